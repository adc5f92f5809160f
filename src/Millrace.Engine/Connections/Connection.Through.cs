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
        // Where there are stages, theirs may have more to say: close_notify, say.
        _peerIsThrough = _outermostStage is null;
    }

    /// <summary>
    /// Not while the group stops: the linger shows that the answer has arrived, before the process ends and perhaps its network with it.
    /// </summary>
    private bool MayEndAtOnce => _peerIsThrough && !_outputBroken && !Reactor.IsDraining;

    /// <summary>Whether nothing is left to do behind the batch that is to be sent now but to close.</summary>
    private bool EndsWithThis =>
        MayEndAtOnce
        && Phase == ConnectionPhase.Flushing
        && _filling is null
        && _operationsInFlight == 0
        && !_sending!.HasPages
        && _sending.Bytes < Backend.ZeroCopyBytesLeast;

    /// <summary>Sends as much as goes at once. What is left goes like any other, also where an error has kept it back.</summary>
    private unsafe void SendWithEnd()
    {
        nint sent = Backend.SendBeforeMore(_socket, _sending!.AsMessage());
        if (sent > 0)
        {
            TakeSent(sent);
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
