using Millrace.Engine.Connections;

namespace Millrace.Engine;

/// <content>
/// A peer that has said that it sends nothing more: its connection needs no linger, and with a single request nothing is received a second
/// time. What is left of its end are two calls, of which the peer sees one segment: the last bytes with the FIN.
/// </content>
public sealed partial class Connection
{
    private bool _peerIsThrough;

    /// <summary>
    /// Called by a handler whose peer has said so, before it consumes the last of the input, behind which it would be received again. When
    /// it has returned and all is sent, the connection is closed without waiting for the peer's own end. Who sends all the same, against
    /// its word, may be reset with the answer unread.
    /// </summary>
    internal void ExpectNoMore()
    {
        Reactor.AssertHome();
        AssertTenant();
        _peerIsThrough = true;
    }

    /// <summary>Whether nothing is left to do behind the batch that is to be sent now but to close.</summary>
    private bool EndsWithThis =>
        _peerIsThrough && Phase == ConnectionPhase.Flushing && _filling is null && _operationsInFlight == 0 && !_sending!.HasPages;

    /// <summary>Sends as much as goes at once. What is left goes like any other, and so does an error, which that send will name.</summary>
    private unsafe void SendWithEnd()
    {
        nint sent = Backend.SendBeforeMore(_socket, _sending!.AsMessage());
        if (sent > 0)
        {
            _sentBytes += sent;
            _sending.Consume((long)sent);
        }

        if (_sending.Bytes > 0)
        {
            SubmitSend();
        }
        else
        {
            FinishSend();
            Progress();
        }
    }
}
