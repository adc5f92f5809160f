using System.Collections.Concurrent;

namespace Millrace.Storm.Judging;

/// <summary>What all threads count.</summary>
internal sealed class Tally
{
    private readonly ConcurrentDictionary<string, ConcurrentBag<double>> _delaysMs = new(StringComparer.Ordinal);
    private readonly ConcurrentDictionary<string, long> _counts = new(StringComparer.Ordinal);
    private readonly ConcurrentQueue<string> _faults = new();

    public IReadOnlyCollection<string> Faults => _faults;

    public void Count(string what, long count = 1) => _counts.AddOrUpdate(what, count, (_, before) => before + count);

    public long CountOf(string what) => _counts.GetValueOrDefault(what);

    public void Fault(string fault) => _faults.Enqueue(fault);

    /// <summary>How long a deployment took to be seen.</summary>
    public void Seen(string kind, TimeSpan delay) => _delaysMs.GetOrAdd(kind, static _ => []).Add(delay.TotalMilliseconds);

    public IEnumerable<Delays> Delays =>
        _delaysMs.OrderBy(static pair => pair.Key, StringComparer.Ordinal).Select(static pair => new Delays(pair.Key, [.. pair.Value.Order()]));
}

/// <summary>The delays of one kind of deployment, ascending.</summary>
internal sealed record Delays(string Kind, double[] Ms)
{
    public double Quantile(double part) => Ms[(int)Math.Min(Ms.Length - 1, part * Ms.Length)];
}
