using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Peers.Http2;

/// <summary>
/// How long the server may still have to wait for a window, exactly by the limits: time takes from it while the window is used up, as far as
/// the server can know, and each byte that comes gives back the time that it may take at the least rate. What is on the way, an opening and
/// the data for it, is given the run's slack.
/// </summary>
internal sealed class WindowCredit(World world)
{
    private readonly double _windowMs = world.Shape.Limits.WriteStall.TotalMilliseconds;
    private double _leftMs = world.Shape.Limits.WriteStall.TotalMilliseconds;
    private long _atMs = world.NowMs;
    private long _openedAtMs = world.NowMs;
    private bool _isUsedUp;

    public long TakenBytes { get; private set; }

    /// <summary>Whether the server has waited for longer than it must.</summary>
    public bool IsSpent
    {
        get
        {
            Settle();
            return _leftMs <= world.Shape.SlackMs;
        }
    }

    /// <summary>Whether the window is used up from now on.</summary>
    public void Set(bool isUsedUp)
    {
        Settle();
        _openedAtMs = _isUsedUp && !isUsedUp ? world.NowMs : _openedAtMs;
        _isUsedUp = isUsedUp;
    }

    public void Take(int bytes)
    {
        Settle();
        TakenBytes += bytes;
        int rate = world.Shape.Limits.WriteBytesPerSecond;
        _leftMs = bytes == 0 ? _leftMs : Math.Min(_windowMs, _leftMs + (rate == 0 ? _windowMs : bytes * 1_000.0 / rate));
    }

    private void Settle()
    {
        long untilMs = _isUsedUp ? world.NowMs : Math.Clamp(_openedAtMs + world.Shape.SlackMs, _atMs, world.NowMs);
        _leftMs -= untilMs - _atMs;
        _atMs = world.NowMs;
    }
}
