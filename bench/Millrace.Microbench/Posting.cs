using BenchmarkDotNet.Attributes;
using Millrace.Engine.Loop;

namespace Millrace.Microbench;

/// <summary>How other threads reach a reactor.</summary>
public class Posting
{
    private const int Posts = 64;

    private readonly Mailbox _mailbox = new(static () => { });

    [Benchmark(Baseline = true)]
    public bool CheckIntoAnEmptyBox() => _mailbox.IsAnnounced;

    [Benchmark]
    public int PostAndDrain()
    {
        _mailbox.Post(static _ => { }, null);
        return _mailbox.Drain();
    }

    [Benchmark(OperationsPerInvoke = Posts)]
    public int PostManyAndDrain()
    {
        for (int i = 0; i < Posts; i++)
        {
            _mailbox.Post(static _ => { }, null);
        }

        return _mailbox.Drain();
    }
}
