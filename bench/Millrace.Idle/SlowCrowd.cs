using System.Diagnostics;
using Millrace.Storm;

namespace Millrace.Idle;

/// <summary>Thousands of slow peers at once: what they do to a normal client, and when the server has ended them all.</summary>
internal sealed class SlowCrowd : IDisposable
{
    /// <summary>
    /// Each peer acts once a second, a thousandth of them at a time: what comes from thousands of places does not come in a hundred at
    /// once, and a burst would be measured in place of their number.
    /// </summary>
    private const int Shares = 1000;

    private readonly List<SlowPeer> _peers = [];
    private readonly CancellationTokenSource _stop = new();
    private readonly Thread _acting;
    private readonly long _startedAt = Stopwatch.GetTimestamp();
    private double _endedAt = double.NaN;

    private SlowCrowd(int count, int port, Func<int, SlowPeer> open)
    {
        for (int i = 0; i < count; i++)
        {
            _peers.Add(open(port));
        }

        _acting = new Thread(Act) { IsBackground = true };
        _acting.Start();
    }

    private int Living => _peers.Count(static peer => !peer.HasEnded);

    /// <summary>False where the normal client waited twice as long as before, or not all were ended in time.</summary>
    public static bool Measure(string what, IdleOptions options, string root, Func<int, SlowPeer> open)
    {
        using var server = new ServedSite(options.Server, root);
        NormalClient.MeasureP99(server.Port, 1);
        double before = NormalClient.MeasureP99(server.Port, options.Seconds);
        using var crowd = new SlowCrowd(options.Slow, server.Port, open);
        double during = NormalClient.MeasureP99(server.Port, options.Seconds);
        int living = crowd.Living;
        crowd.AwaitEnd(options.Patience);

        string end = crowd.Living == 0 ? $"all ended after {crowd._endedAt:f0} s" : $"{crowd.Living:N0} not ended after {options.Patience:f0} s";
        Console.WriteLine($"{options.Slow:N0} {what}: a normal client's p99 was {before:f2} ms before and {during:f2} ms during, "
            + $"{during / before:f2} x (less than 2); {living:N0} were there at the end of that; {end}");
        return during < 2 * before && crowd.Living == 0;
    }

    public void Dispose()
    {
        _stop.Cancel();
        _acting.Join();
        _peers.ForEach(static peer => peer.Dispose());
        _stop.Dispose();
    }

    private void AwaitEnd(double patienceSeconds)
    {
        TimeSpan left = TimeSpan.FromSeconds(patienceSeconds) - Stopwatch.GetElapsedTime(_startedAt);
        while (left > TimeSpan.Zero && Living > 0)
        {
            Thread.Sleep(TimeSpan.FromMilliseconds(100));
            left -= TimeSpan.FromMilliseconds(100);
        }
    }

    private void Act()
    {
        for (int share = 0; !_stop.Token.WaitHandle.WaitOne(1000 / Shares); share = (share + 1) % Shares)
        {
            for (int i = share; i < _peers.Count; i += Shares)
            {
                _peers[i].Act();
            }

            if (share == 0 && double.IsNaN(_endedAt) && Living == 0)
            {
                _endedAt = Stopwatch.GetElapsedTime(_startedAt).TotalSeconds;
            }
        }
    }
}
