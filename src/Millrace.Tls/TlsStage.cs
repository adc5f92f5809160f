using System.Diagnostics;
using Millrace.Engine;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Stages;
using Millrace.Tls.Certificates;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls;

/// <summary>
/// TLS on one connection: records in from the bytes received, records out into the batch that is sent, both by OpenSSL. The handler is run
/// when the handshake is done. Owns its SSL from the first byte to <see cref="Release"/>. Reactor thread only.
/// </summary>
internal sealed unsafe partial class TlsStage : ConnectionStage
{
    private readonly TlsTerminator _terminator;
    private readonly ReactorDesk _desk;
    private CertificateSet? _certificates;
    private nint _ssl;
    private Phase _phase;
    private HelloGate _gate;
    private bool _hasPassedGate;
    private bool _hasPlace;

    /// <summary>More than a handshake has; what comes behind one may be more.</summary>
    private const int WaitingBytesMax = HelloGate.HelloBytesMax * 4;

    /// <summary>What came while others had their turn.</summary>
    private InputBuffer _waiting;
    private bool _isWaiting;
    private bool _hasEnded;

    public TlsStage(TlsTerminator terminator, Connection connection)
    {
        terminator.Hold();
        _terminator = terminator;
        _desk = terminator.DeskOf(connection.Reactor);
        _hasPlace = terminator.Places?.TryTake() != false;
        connection.SetStageDeadline(connection.Reactor.NowMs + (_hasPlace ? terminator.HandshakeMs : 0));
    }

    private enum Phase : byte
    {
        Handshake,
        Established,

        /// <summary>The peer has sent its close_notify: it may still be answered.</summary>
        PeerClosed,

        /// <summary>It ended with an alert, ours or the peer's, or for lack of a handshake.</summary>
        Failed,
        Released,
    }

    /// <summary>The stage whose call of OpenSSL runs on this thread: callbacks find it here.</summary>
    [field: ThreadStatic]
    public static TlsStage? AtWork { get; private set; }

    public TlsTerminator Terminator => _terminator;

    /// <summary>What <see cref="Terminator"/> and the client have agreed on; null without ALPN.</summary>
    public string? ApplicationProtocol { get; set; }

    /// <summary>The certificates to choose from, until the handshake is done.</summary>
    public CertificateSet? Certificates => _certificates;

    public override bool HoldsHandler => true;

    /// <summary>What the two sides have agreed on; null before that.</summary>
    public TlsSession? DescribeSession() =>
        _phase is Phase.Established or Phase.PeerClosed ? TlsSession.Of(_ssl, ApplicationProtocol) : null;

    public override void Receive(ReadOnlySpan<byte> bytes)
    {
        if (_phase == Phase.Established)
        {
            Work(bytes);
        }
        else if (_phase == Phase.Handshake && _hasPlace && MayPass(bytes))
        {
            if (!_isWaiting && _desk.Turns.IsFree)
            {
                MakeStep(bytes);
            }
            else
            {
                Wait(bytes);
            }
        }
    }

    /// <summary>The turn that it waited for.</summary>
    public void TakeTurn()
    {
        _isWaiting = false;
        if (_phase == Phase.Handshake && Connection.Phase == ConnectionPhase.Serving)
        {
            Connection.Continue(this);
        }
    }

    public override void Continue()
    {
        StepWithWhatWaited();
        if (_hasEnded && _phase is Phase.Handshake or Phase.Established)
        {
            PassInEnd(ReceiveEnded(ReceiveEnd.Finished));
        }
    }

    public override void DeadlineReached()
    {
        if (_phase == Phase.Handshake)
        {
            Fail(_hasPlace ? "it was not finished in time" : "as many connections are open as there may be");
        }
        else if (_phase == Phase.Failed)
        {
            Connection.EndFromStage();
        }
    }

    public override ReceiveEnd ReceiveEnded(ReceiveEnd end)
    {
        if (end != ReceiveEnd.Finished || _phase == Phase.PeerClosed)
        {
            return end;
        }

        if (_isWaiting)
        {
            _hasEnded = true;
            return ReceiveEnd.None;
        }

        // RFC 8446, section 6.1: an end without close_notify is a cut stream, whoever cut it.
        if (_phase == Phase.Handshake)
        {
            NoteGone();
        }
        else if (_phase == Phase.Established)
        {
            _terminator.Counters.Truncated();
            return _terminator.CutStream == CutStream.IsEnd ? end : ReceiveEnd.Reset;
        }

        return ReceiveEnd.Reset;
    }

    public override void Release()
    {
        if (_phase == Phase.Handshake)
        {
            NoteGone();
        }

        _phase = Phase.Released;
        ReturnPlace();
        BlockPools pools = Connection.Reactor.Pools;
        _waiting.Clear(pools);
        DropPending();
        ReleaseCertificates();
        if (_ssl != 0)
        {
            LeaveWarm();
            LibSsl.SSL_free(_ssl);
            _ssl = 0;
            _terminator.Counters.Freed();
        }

        _terminator.Release();
    }

    private bool MayPass(ReadOnlySpan<byte> bytes)
    {
        if (_hasPassedGate)
        {
            return true;
        }

        switch (_gate.Look(bytes))
        {
            case HelloVerdict.PlainText:
                Put(PlainHttpAnswer.Bytes);
                Fail("the client speaks no TLS");
                return false;
            case HelloVerdict.TooLong:
                Fail("its ClientHello is too long");
                return false;
            case HelloVerdict.Passed:
                _hasPassedGate = true;
                return true;
            default:
                return true;
        }
    }

    private void Wait(ReadOnlySpan<byte> bytes)
    {
        if (_waiting.Count + bytes.Length > WaitingBytesMax)
        {
            StepOutOfTurn(bytes);
            return;
        }

        _waiting.Append(bytes, Connection.Reactor.Pools);
        if (!_isWaiting)
        {
            _isWaiting = true;
            _terminator.Counters.PutOff();
            _desk.Turns.Await(this);
        }
    }

    /// <summary>
    /// Who has sent the last of its handshake goes on with what it likes, in TLS 1.3 before it has heard anything of us, and that may be
    /// much: what it waits for is cheap then. Its place among those who wait is of no use any more.
    /// </summary>
    private void StepOutOfTurn(ReadOnlySpan<byte> bytes)
    {
        _isWaiting = false;
        StepWithWhatWaited();
        if (_phase == Phase.Handshake)
        {
            Fail("more came than a handshake has");
        }
        else
        {
            Receive(bytes);
        }
    }

    private void StepWithWhatWaited()
    {
        MakeStep(_waiting.Bytes);
        _waiting.Clear(Connection.Reactor.Pools);
    }

    private void MakeStep(ReadOnlySpan<byte> bytes)
    {
        long start = Stopwatch.GetTimestamp();
        if (_ssl == 0)
        {
            Begin();
        }

        Work(bytes);
        _desk.Turns.Spend(Stopwatch.GetTimestamp() - start);
    }

    /// <summary>Not before the first bytes: a connection that says nothing costs no SSL.</summary>
    private void Begin()
    {
        _certificates = _terminator.Certificates.Acquire();
        _ssl = LibSsl.SSL_new(_certificates.Default.Handle);
        if (_ssl == 0)
        {
            OpenSslErrors.Clear();
            throw new InsufficientMemoryException("OpenSSL has no memory for a connection.");
        }

        _terminator.Counters.Made();
        nint bio = StageBio.New();
        LibSsl.SSL_set_bio(_ssl, bio, bio);
        LibSsl.SSL_set_accept_state(_ssl);
    }

    private void Shake()
    {
        EnterLibrary();
        int result = LibSsl.SSL_do_handshake(_ssl);
        LeaveLibrary();
        if (result == 1)
        {
            Establish();
        }
        else if (LibSsl.SSL_get_error(_ssl, result) != SslConstants.ErrorWantRead)
        {
            Fail(OpenSslErrors.Drain().ToString());
        }
        else
        {
            // TLS 1.2 has no second hello, but a resumed session's next record is encrypted: one of 256 looks like the beginning of one.
            _hasPassedGate |= LibSsl.SSL_version(_ssl) != SslConstants.Tls13Version;
        }
    }

    private void Establish()
    {
        _phase = Phase.Established;
        Connection.SetStageDeadline(long.MaxValue);
        ReleaseCertificates();
        ReturnPlace();
        _terminator.Counters.Done(LibSsl.SSL_session_reused(_ssl) == 1);
        StartHandler();
    }

    /// <summary>Nothing goes on from here; what OpenSSL has put up (an alert) is sent, and the connection ends.</summary>
    private void Fail(string reason)
    {
        NoteFailure(reason);
        if (_pending is not null)
        {
            Connection.SendFromStage();
        }

        Connection.EndFromStage();
    }

    /// <summary>Who said nothing at all (a look whether the port is open, a connection made in advance) has begun no handshake.</summary>
    private void NoteGone()
    {
        if (_ssl != 0 || _isWaiting)
        {
            NoteFailure("the client went away");
        }

        _phase = Phase.Failed;
    }

    private void NoteFailure(string reason)
    {
        if (_phase == Phase.Handshake)
        {
            _terminator.Counters.Failed();
            _terminator.Log.HandshakeFailed(reason);
        }
        else
        {
            _terminator.Log.SessionFailed(reason);
        }

        _phase = Phase.Failed;
        ReleaseCertificates();
    }

    /// <summary>From here on whoever serves the connection counts it.</summary>
    private void ReturnPlace()
    {
        if (_hasPlace)
        {
            _terminator.Places?.Return();
            _hasPlace = false;
        }
    }

    private void ReleaseCertificates()
    {
        _certificates?.Release();
        _certificates = null;
    }
}
