using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Sessions;

namespace Millrace.HttpServer.Http3;

/// <summary>
/// Ends streams for errors of the client, and counts what ends without a response: it may have cost work, as in rapid reset
/// (CVE-2023-44487). Reactor thread only.
/// </summary>
internal sealed class Http3StreamErrors(SessionReactorState reactorState, Http3Lifecycle lifecycle, Http3Streams streams)
{
    private readonly TokenBucket _resets = new(reactorState.Limits.Http3.ResetsMax, reactorState.Limits.Http3.ResetsPerSecond);

    /// <summary>Resets a stream for a client's error. Errors are as cheap to cause as resets, and are charged equally.</summary>
    public void Reset(Http3Stream stream, long error)
    {
        stream.Input.GiveUp();
        if (Charge())
        {
            streams.Reset(stream, error);
        }
    }

    /// <summary>The client has ended a stream before its response was complete. False: too often.</summary>
    public bool Charge()
    {
        bool isAllowed = _resets.TrySpend(1, reactorState.NowMs);
        if (!isAllowed)
        {
            lifecycle.Fail(Http3Error.ExcessiveLoad, "Too many requests were cancelled or not valid");
        }

        return isAllowed;
    }

    /// <summary>A complete response allows one more.</summary>
    public void Earn() => _resets.Earn(1);
}
