using System.Globalization;
using System.Text.RegularExpressions;

namespace Millrace.Server.Tests.Kit;

/// <summary>A sample as it is written in Prometheus's text format.</summary>
internal sealed record MetricsSample(string Name, IReadOnlyDictionary<string, string> Labels, double Value);

/// <summary>
/// Reads the text format 0.0.4, and fails for whatever Prometheus would refuse or misread: samples outside of their family, families twice,
/// series twice, histograms that do not rise.
/// </summary>
internal sealed partial class MetricsText
{
    private readonly Dictionary<string, string> _types = new(StringComparer.Ordinal);
    private readonly HashSet<string> _helps = new(StringComparer.Ordinal);
    private readonly HashSet<string> _series = new(StringComparer.Ordinal);
    private readonly List<MetricsSample> _samples = [];
    private string _family = "";

    private MetricsText()
    {
    }

    public IReadOnlyList<MetricsSample> Samples => _samples;

    public IReadOnlyDictionary<string, string> Types => _types;

    public static MetricsText Parse(string text)
    {
        Assert.True(text.Length == 0 || text[^1] == '\n', "The last line does not end.");
        var metrics = new MetricsText();
        foreach (string line in text.Split('\n')[..^1])
        {
            metrics.Take(line);
        }

        metrics.CheckHistograms();
        return metrics;
    }

    /// <summary>The sum of all series of a name that have these labels.</summary>
    public double Sum(string name, params (string Label, string Value)[] labels) => _samples
        .Where(sample => sample.Name == name)
        .Where(sample => labels.All(label => sample.Labels.GetValueOrDefault(label.Label) == label.Value))
        .Sum(static sample => sample.Value);

    private void Take(string line)
    {
        if (Comment().Match(line) is { Success: true } comment)
        {
            string name = comment.Groups["name"].Value;
            bool isHelp = comment.Groups["kind"].Value == "HELP";
            Assert.True(isHelp ? _helps.Add(name) : _types.TryAdd(name, comment.Groups["text"].Value), $"Twice: {line}");
            Assert.True(!isHelp || !_types.ContainsKey(name), $"Help after the type: {line}");
            Assert.True(isHelp || comment.Groups["text"].Value is "counter" or "gauge" or "histogram" or "summary" or "untyped", line);
            _family = name;
            return;
        }

        Match match = Sample().Match(line);
        Assert.True(match.Success, $"No line of the format: {line}");
        TakeSample(match, line);
    }

    private void TakeSample(Match match, string line)
    {
        string name = match.Groups["name"].Value;
        string suffix = _types.GetValueOrDefault(_family) == "histogram" ? "(_bucket|_sum|_count)" : "";
        Assert.Matches($"^{_family}{suffix}$", name);
        Assert.True(_types.GetValueOrDefault(_family) != "counter" || _family.EndsWith("_total", StringComparison.Ordinal), line);
        var labels = new SortedDictionary<string, string>(StringComparer.Ordinal);
        for (int i = 0; i < match.Groups["label"].Captures.Count; i++)
        {
            labels.Add(match.Groups["label"].Captures[i].Value, match.Groups["value"].Captures[i].Value);
        }

        Assert.True(_series.Add(name + string.Join(',', labels)), $"The series twice: {line}");
        string number = match.Groups["number"].Value;
        double value = number == "+Inf" ? double.PositiveInfinity : double.Parse(number, CultureInfo.InvariantCulture);
        _samples.Add(new MetricsSample(name, labels, value));
    }

    private void CheckHistograms()
    {
        foreach (string family in _types.Where(static type => type.Value == "histogram").Select(static type => type.Key))
        {
            foreach (var series in _samples.Where(sample => sample.Name == family + "_bucket").GroupBy(Key))
            {
                double[] counts = [.. series.Select(static sample => sample.Value)];
                Assert.Equal(counts.Order(), counts);
                Assert.Equal("+Inf", series.Last().Labels["le"]);
                double total = _samples.Single(sample => sample.Name == family + "_count" && Key(sample) == series.Key).Value;
                Assert.Equal(total, counts[^1]);
                Assert.Single(_samples, sample => sample.Name == family + "_sum" && Key(sample) == series.Key);
            }
        }

        static string Key(MetricsSample sample) => string.Join(',', sample.Labels.Where(static label => label.Key != "le"));
    }

    [GeneratedRegex(@"^# (?<kind>HELP|TYPE) (?<name>[a-zA-Z_:][a-zA-Z0-9_:]*) (?<text>(\\\\|\\n|[^\\])*)$")]
    private static partial Regex Comment();

    [GeneratedRegex(
        @"^(?<name>[a-zA-Z_:][a-zA-Z0-9_:]*)"
        + @"(\{((?<label>[a-zA-Z_][a-zA-Z0-9_]*)=""(?<value>(\\\\|\\""|\\n|[^\\""])*)"",?)*\})? "
        + @"(?<number>[+-]?[0-9.]+(E[+-]?[0-9]+)?|\+Inf|-Inf|NaN)$")]
    private static partial Regex Sample();
}
