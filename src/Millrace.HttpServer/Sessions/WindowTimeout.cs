using Millrace.Engine;
using Millrace.Engine.Connections;

namespace Millrace.HttpServer.Sessions;

/// <summary>Measures how fast a client opens one window, of a stream or of the connection, while data waits for it.</summary>
internal sealed class WindowTimeout
{
    private readonly TransferRateLimit _rate = new();
    private bool _isActive;
    private long _sentAtCheck;

    public void Stop() => _isActive = false;

    /// <summary>
    /// Begins to measure, or checks. A client opens a window for data it has received: while earlier data is in transit and received, the
    /// clock stops. This holds only if nothing was sent since the last check; otherwise a client that opens a window a little before each
    /// check would never time out.
    /// </summary>
    public bool IsTooSlow(long nowMs, long sentBytes, bool isInTransit, Reactor reactor)
    {
        bool isTooSlow = false;
        if (!_isActive)
        {
            _isActive = true;
            _rate.Begin(nowMs, reactor.WriteStallMs, reactor.Limits.WriteBytesPerSecond, sentBytes);
        }
        else if (isInTransit && sentBytes == _sentAtCheck)
        {
            _rate.Resume(nowMs, sentBytes);
        }
        else
        {
            isTooSlow = _rate.IsTooSlow(nowMs, sentBytes);
        }

        _sentAtCheck = sentBytes;
        return isTooSlow;
    }
}
