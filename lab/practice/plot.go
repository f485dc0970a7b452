package practice

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Size of a panel of the plot.
const (
	panelWidth  = 14 * vg.Centimeter
	panelHeight = 9 * vg.Centimeter
)

// plotFormats returns the file formats of a plot.
func plotFormats() []string { return []string{".svg", ".png"} }

// CanPlot reports whether Plot knows the format of a file by its name.
func CanPlot(path string) bool { return slices.Contains(plotFormats(), filepath.Ext(path)) }

// Plot draws the tenants' learning to a file, a row for each tenant: as SVG or PNG, by its name.
func (r Report) Plot(path string) (err error) {
	if !CanPlot(path) {
		return fmt.Errorf("%q ends in none of %v", path, plotFormats())
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return r.draw(f, filepath.Ext(path)[1:])
}

func (r Report) draw(out io.Writer, format string) error {
	var panels [][]*plot.Plot
	for _, t := range r.Tenants {
		useful, err := r.panel(t, "useful memories among those shown", func(s Quality) float64 { return s.Useful })
		if err != nil {
			return err
		}
		found, err := r.panel(t, "recall@5", func(s Quality) float64 { return s.Recall5 })
		if err != nil {
			return err
		}
		panels = append(panels, []*plot.Plot{useful, found})
	}
	canvas, err := draw.NewFormattedCanvas(2*panelWidth, panelHeight*vg.Length(len(panels)), format)
	if err != nil {
		return fmt.Errorf("canvas: %w", err)
	}
	const pad = 4 * vg.Millimeter
	tiles := draw.Tiles{Rows: len(panels), Cols: 2, PadX: pad, PadY: pad, PadTop: pad, PadBottom: pad, PadLeft: pad,
		PadRight: pad}
	for i, row := range plot.Align(panels, tiles, draw.New(canvas)) {
		for j, at := range row {
			panels[i][j].Draw(at)
		}
	}
	if _, err := canvas.WriteTo(out); err != nil {
		return fmt.Errorf("write plot: %w", err)
	}
	return nil
}

// panel draws one figure of one tenant: a line for each run, and the level of supervised weights.
func (r Report) panel(t Tenant, name string, value func(Quality) float64) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.Y.Label.Text, p.X.Label.Text = t.Name+": "+name, "share", fmt.Sprintf("steps of %d reports", r.Batch)
	p.Y.Min = 0
	p.Add(plotter.NewGrid())
	for _, run := range r.Runs {
		if run.Tenant != t.Name {
			continue
		}
		var at plotter.XYs
		for _, point := range run.Points {
			at = append(at, plotter.XY{X: float64(point.Step), Y: value(point.Quality)})
		}
		line, err := plotter.NewLine(at)
		if err != nil {
			return nil, fmt.Errorf("line: %w", err)
		}
		line.Color, line.Width = shade(run.Wrong), vg.Points(1.5)
		if run.Start != StartPrior {
			line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		p.Add(line)
		p.Legend.Add(fmt.Sprintf("%s, %.0f %% of citations wrong", run.Start, 100*run.Wrong), line)
	}
	line, err := plotter.NewLine(plotter.XYs{{X: 0, Y: value(t.Supervised)},
		{X: float64(r.Steps), Y: value(t.Supervised)}})
	if err != nil {
		return nil, fmt.Errorf("line: %w", err)
	}
	line.Color, line.Dashes = color.Gray{Y: 110}, []vg.Length{vg.Points(1), vg.Points(2)}
	p.Add(line)
	p.Legend.Add("supervised", line)
	return p, nil
}

// shade goes from blue, for no wrong citations, to red.
func shade(wrong float64) color.Color {
	const full = 0.3 // share of wrong citations with full red
	part := min(1, wrong/full)
	return color.RGBA{R: uint8(40 + 180*part), G: uint8(90 - 40*part), B: uint8(200 - 170*part), A: 255}
}
