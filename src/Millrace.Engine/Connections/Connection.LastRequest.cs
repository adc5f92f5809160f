using Millrace.Engine.Connections;

namespace Millrace.Engine;

/// <content>
/// A peer that has announced its last request: its connection needs no linger, and after a single request no second receive. The end then
/// takes two calls, of which the peer sees one segment: the last bytes with the FIN.
/// </content>
public sealed partial class Connection
{
    private bool _isLastRequest;

    /// <summary>
    /// Called by a handler whose peer has announced its last request, before the handler consumes the last of the input, which would resume
    /// the receive. When the handler has returned and all is sent, the connection closes without waiting for the peer's FIN. A peer that
    /// sends nevertheless may be reset before it has read the response.
    /// </summary>
    internal void NoteLastRequest()
    {
        Reactor.AssertReactorThread();
        AssertServing();
        // Filters may have a last message of their own, such as close_notify.
        _isLastRequest = _outermostFilter is null;
    }

    /// <summary>
    /// Not while the group stops: the linger confirms that the response has arrived before the process, and perhaps its network, ends.
    /// </summary>
    private bool MayEndAtOnce => _isLastRequest && !_outputBroken && !Reactor.IsDraining;

    /// <summary>Whether the connection only has to close after the batch that is about to be sent.</summary>
    private bool EndsWithThis =>
        MayEndAtOnce
        && Phase == ConnectionPhase.Flushing
        && _filling is null
        && _operationsInFlight == 0
        && !_sending!.HasPages
        && _sending.Bytes < Backend.ZeroCopyBytesLeast;

    /// <summary>Sends as much as the socket takes at once. The remainder, also after an error, takes the usual path.</summary>
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
