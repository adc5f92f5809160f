using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Peers;

/// <content>What it says and hears through a seal, if it has one: what it sends is sent when the sealed bytes are.</content>
internal abstract partial class Peer
{
    private int _sealedBytes;
    private bool _isEnding;

    /// <summary>Whether it speaks to a server after <see cref="SealFilter"/>.</summary>
    protected bool IsSealed => seal is not null;

    private bool HasToSeal =>
        _isEnding || _sealedBytes > 0 || seal!.Outgoing.Length > 0 || (seal.IsOpen && Outgoing.Length > 0);

    /// <summary>An end without the last word is a stream that was cut, unless it never began: who stops waits for no handshake.</summary>
    private bool IsCut => seal is { HadLastWord: false } && !Socket.MayBreak && !(World.IsStopping && !Socket.IsSealed);

    private void Open(ReadOnlySpan<byte> bytes)
    {
        if (seal is null)
        {
            Take(bytes);
            return;
        }

        byte[]? plain = seal.Open(bytes);
        if (plain is null)
        {
            Fail("A record came that was not sealed for this connection.");
        }
        else if (plain.Length > 0)
        {
            Take(plain);
        }
    }

    private void SendSealed(PeerSeal seal)
    {
        if (seal.Outgoing.IsEmpty)
        {
            SealMore(seal);
        }

        int count = Math.Min(Math.Min(seal.Outgoing.Length, _sendPiece), Socket.Uplink.Room);
        if (count > 0 && !_hasEnded)
        {
            World.Trace.Note(Number, TraceEvent.PeerSends, count);
            Socket.SendByPeer(seal.Outgoing[..count]);
            seal.OnSent(count);
            NoteSealedSent(seal);
        }
    }

    private void NoteSealedSent(PeerSeal seal)
    {
        if (_sealedBytes > 0 && seal.Outgoing.IsEmpty)
        {
            int sent = _sealedBytes;
            _sealedBytes = 0;
            OnSent(sent);
            if (HasSentAll)
            {
                OnSentAll();
            }
        }
    }

    /// <summary>All that was sealed is sent: something more.</summary>
    private void SealMore(PeerSeal seal)
    {
        if (_isEnding)
        {
            _hasEnded = true;
            Socket.EndByPeer();
        }
        else if (seal.IsOpen && Outgoing.Length > 0)
        {
            _sealedBytes = World.Random.Between(1, Math.Min(Outgoing.Length, PeerSeal.RecordBytesMax));
            seal.Add(Outgoing[.._sealedBytes]);
        }
    }

    /// <summary>The last word, before the end.</summary>
    private void Seal(PeerSeal seal)
    {
        if (!_isEnding)
        {
            _isEnding = true;
            seal.AddLastWord();
        }
    }
}
