namespace Millrace.Server.Admin.Dashboard;

/// <summary>The samples of the last minutes, so that a page that is opened shows them at once. Any thread.</summary>
internal sealed class StatsHistory
{
    /// <summary>Five minutes.</summary>
    public const int SamplesMax = 300;

    private readonly Lock _gate = new();
    private readonly Queue<StatsSample> _samples = new(SamplesMax);

    public void Add(StatsSample sample)
    {
        lock (_gate)
        {
            if (_samples.Count == SamplesMax)
            {
                _samples.Dequeue();
            }

            _samples.Enqueue(sample);
        }
    }

    /// <summary>Those behind a number, in order. A number beyond all is of another process, and tells nothing.</summary>
    public StatsSample[] After(long number)
    {
        lock (_gate)
        {
            long last = _samples.Count == 0 ? 0 : _samples.Last().Number;
            return number > last ? [.. _samples] : [.. _samples.Where(sample => sample.Number > number)];
        }
    }
}
