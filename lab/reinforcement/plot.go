package reinforcement

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// Plot draws the reward curves of the arms to a file, as SVG or PNG by its name. The x axis is sessions formed; each
// arm and start has a line. Without curves the axes are empty.
func (x Experiment) Plot(path string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = x.Paper, "sessions formed", "mean reward"
	p.Add(plotter.NewGrid())
	p.Y.Label.Text += " with its interval"
	drawn := 0
	for _, a := range x.Arms {
		if len(a.Curve) == 0 {
			continue
		}
		at := make(plotter.XYs, len(a.Curve))
		for i, e := range a.Curve {
			at[i] = plotter.XY{X: a.Steps[i], Y: e.Mean}
		}
		if err := addBand(p, a, plotutil.Color(drawn)); err != nil {
			return err
		}
		line, err := plotter.NewLine(at)
		if err != nil {
			return fmt.Errorf("line: %w", err)
		}
		line.Color, line.Width = plotutil.Color(drawn), vg.Points(1.5)
		if a.Start == StartShipped {
			line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		p.Add(line)
		p.Legend.Add(a.Name+", "+a.Start, line)
		drawn++
	}
	p.X.Max += (p.X.Max - p.X.Min) / 2 // the legend stands right of the curves
	p.Legend.Top, p.Legend.TextStyle.Font.Size = true, vg.Points(8)
	if err := p.Save(20*vg.Centimeter, 12*vg.Centimeter, path); err != nil {
		return fmt.Errorf("draw %s: %w", path, err)
	}
	return nil
}

// addBand draws the intervals of an arm's curve.
func addBand(p *plot.Plot, a Arm, of color.Color) error {
	var around plotter.XYs
	for i, e := range a.Curve {
		around = append(around, plotter.XY{X: a.Steps[i], Y: e.Mean + e.Half})
	}
	for i, e := range slices.Backward(a.Curve) {
		around = append(around, plotter.XY{X: a.Steps[i], Y: e.Mean - e.Half})
	}
	band, err := plotter.NewPolygon(around)
	if err != nil {
		return fmt.Errorf("band: %w", err)
	}
	r, g, b, _ := of.RGBA()
	band.Color, band.LineStyle.Width = color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 24}, 0 //nolint:gosec // 16 bits each
	p.Add(band)
	return nil
}
