using System.Diagnostics.Metrics;
using System.Text;
using Millrace.Server.Metrics;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Metrics;

public sealed class PrometheusTextTests : IDisposable
{
    private readonly Meter _meter = new("Millrace.Sample");
    private readonly MeterReader _reading;

    public PrometheusTextTests() => _reading = new MeterReader(instrument => instrument.Meter == _meter);

    [Fact]
    public void A_counter_is_a_total_and_tags_are_labels()
    {
        Counter<long> counter = _meter.CreateCounter<long>("sample.done", "{thing}", "What is done.");
        counter.Add(2, new KeyValuePair<string, object?>("way.of", "a"));
        counter.Add(3, new KeyValuePair<string, object?>("way.of", "a"));
        counter.Add(1);

        Assert.Equal(
            "# HELP sample_done_total What is done.\n# TYPE sample_done_total counter\n"
            + "sample_done_total{way_of=\"a\"} 5\nsample_done_total 1\n",
            Write());
    }

    [Fact]
    public void Units_are_part_of_the_name()
    {
        _meter.CreateObservableGauge("sample.age", static () => 1.5, "s");
        _meter.CreateObservableUpDownCounter("sample.held", static () => 7L, "By");
        _meter.CreateObservableGauge("sample.share", static () => 0.25, "1");

        Assert.Equal(
            "# TYPE sample_age_seconds gauge\nsample_age_seconds 1.5\n"
            + "# TYPE sample_held_bytes gauge\nsample_held_bytes 7\n"
            + "# TYPE sample_share_ratio gauge\nsample_share_ratio 0.25\n",
            Write());
    }

    [Fact]
    public void A_histogram_counts_what_is_not_above_each_bound()
    {
        Histogram<double> histogram = _meter.CreateHistogram(
            "sample.wait", "s", null, tags: null, new InstrumentAdvice<double> { HistogramBucketBoundaries = [0.1, 1] });
        foreach (double value in (double[])[0.1, 0.5, 1, 2])
        {
            histogram.Record(value);
        }

        Assert.Equal(
            "# TYPE sample_wait_seconds histogram\n"
            + "sample_wait_seconds_bucket{le=\"0.1\"} 1\nsample_wait_seconds_bucket{le=\"1\"} 3\nsample_wait_seconds_bucket{le=\"+Inf\"} 4\n"
            + "sample_wait_seconds_sum 3.6\nsample_wait_seconds_count 4\n",
            Write());
    }

    [Fact]
    public void What_would_end_a_line_or_a_label_is_escaped()
    {
        _meter.CreateCounter<int>("sample.odd", null, "A \\ and\na line.").Add(1, new KeyValuePair<string, object?>("tag", "\"\\\n"));

        Assert.Equal(
            "# HELP sample_odd_total A \\\\ and\\na line.\n# TYPE sample_odd_total counter\n"
            + "sample_odd_total{tag=\"\\\"\\\\\\n\"} 1\n",
            Write());
        MetricsText.Parse(Write());
    }

    [Fact]
    public void What_is_observed_no_more_is_shown_no_more()
    {
        long[] seen = [1, 2];
        _meter.CreateObservableGauge(
            "sample.seen", () => seen.Select(static one => new Measurement<long>(one, new KeyValuePair<string, object?>("one", one))));
        Assert.Contains("sample_seen{one=\"2\"} 2\n", Write(), StringComparison.Ordinal);

        seen = [1];

        Assert.DoesNotContain("one=\"2\"", Write(), StringComparison.Ordinal);
    }

    [Fact]
    public void What_is_observed_no_more_makes_room()
    {
        long first = 0;
        _meter.CreateObservableGauge("sample.seen", () => Enumerable.Range(0, 600)
            .Select(i => new Measurement<long>(1, new KeyValuePair<string, object?>("one", first + i))));
        Write();

        first = 600;

        Assert.Equal(600, Write().Split("sample_seen{").Length - 1);
    }

    [Fact]
    public void An_instrument_of_a_meter_that_is_gone_is_shown_no_more()
    {
        _meter.CreateCounter<long>("sample.gone").Add(1);
        Assert.Contains("sample_gone_total 1\n", Write(), StringComparison.Ordinal);

        _meter.Dispose();

        Assert.Equal("", Write());
    }

    [Fact]
    public void Measurements_of_many_threads_are_all_counted()
    {
        Counter<double> counter = _meter.CreateCounter<double>("sample.sum");
        Histogram<long> histogram = _meter.CreateHistogram<long>("sample.sizes");

        Parallel.For(0, 40_000, i =>
        {
            counter.Add(0.5, new KeyValuePair<string, object?>("even", i % 2 == 0));
            histogram.Record(i % 3);
        });

        string text = Write();
        Assert.Contains("sample_sum_total{even=\"true\"} 10000\n", text, StringComparison.Ordinal);
        Assert.Contains("sample_sum_total{even=\"false\"} 10000\n", text, StringComparison.Ordinal);
        Assert.Contains("sample_sizes_count 40000\n", text, StringComparison.Ordinal);
    }

    public void Dispose()
    {
        _reading.Dispose();
        _meter.Dispose();
    }

    private string Write() => Encoding.UTF8.GetString(PrometheusPage.Write(_reading, requests: null));
}
