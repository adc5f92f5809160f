namespace Millrace.Server.Admin.Dashboard;

/// <summary>The samples of the last minutes, so that a newly opened page shows them at once. Any thread.</summary>
internal sealed class StatsHistory
{
    /// <summary>Five minutes.</summary>
    public const int SamplesMax = 300;

    private readonly Lock _lock = new();
    private readonly Queue<StatsSample> _samples = new(SamplesMax);

    public void Add(StatsSample sample)
    {
        lock (_lock)
        {
            if (_samples.Count == SamplesMax)
            {
                _samples.Dequeue();
            }

            _samples.Enqueue(sample);
        }
    }

    /// <summary>The samples after a number, in order. A number above all is from another process, and returns all samples.</summary>
    public StatsSample[] After(long number)
    {
        lock (_lock)
        {
            long last = _samples.Count == 0 ? 0 : _samples.Last().Number;
            return number > last ? [.. _samples] : [.. _samples.Where(sample => sample.Number > number)];
        }
    }
}
