using System.Net;

namespace Millrace.HttpServer.Upstreams;

/// <summary>
/// One address of a target, with its passive health: after some failed connects it is avoided for a while, as nginx does. Shared by the
/// reactors without a lock; a lost update delays this by one failure. Any thread.
/// </summary>
internal sealed class UpstreamPeer(UpstreamTarget target, EndPoint endPoint)
{
    private long _lastFailedMs;
    private long _downUntilMs;
    private int _fails;

    public UpstreamTarget Target { get; } = target;

    public EndPoint EndPoint { get; } = endPoint;

    /// <summary>Its name in logs.</summary>
    public string Text { get; } = target.EndPoint is null ? $"{target} ({endPoint})" : target.Text;

    /// <param name="nowMs">The reactors' monotonic clock.</param>
    public bool IsDown(long nowMs) => Volatile.Read(ref _downUntilMs) > nowMs;

    public void NoteFailure(long nowMs, UpstreamOptions options)
    {
        long windowMs = (long)options.FailTimeout.TotalMilliseconds;
        bool isFirst = nowMs - Volatile.Read(ref _lastFailedMs) > windowMs;
        Volatile.Write(ref _lastFailedMs, nowMs);
        int fails = isFirst ? 1 : Volatile.Read(ref _fails) + 1;
        Volatile.Write(ref _fails, fails);
        if (fails >= options.MaxFails)
        {
            Volatile.Write(ref _downUntilMs, nowMs + windowMs);
        }
    }

    public void NoteSuccess()
    {
        if (Volatile.Read(ref _fails) != 0)
        {
            Volatile.Write(ref _fails, 0);
            Volatile.Write(ref _downUntilMs, 0);
        }
    }

    public override string ToString() => Text;
}
