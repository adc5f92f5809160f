using System.Runtime.InteropServices;
using Millrace.Quic.Protection;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Quic;

/// <summary>
/// The handshake of a QUIC connection by OpenSSL, in one of both roles. What OpenSSL brings about is reported after it has returned; the
/// sink may dispose of the handshake then. A failure of the peer's is reported once, with an alert, and later bytes are ignored. One
/// thread.
/// </summary>
internal abstract unsafe class OpenSslQuicHandshake(TlsCounters counters, TlsLog log) : QuicHandshake
{
    /// <summary>OpenSSL's memory, as an estimate: that of an unfinished handshake, and of a client's session after it.</summary>
    private const int HandshakeBytes = 48 * 1024;
    private const int SessionBytes = 16 * 1024;

    private byte[] _parameters = [];
    private byte[] _protocol = [];
    private CryptoMessages _messages;
    private QuicSsl? _ssl;
    private bool _isComplete;
    private bool _isOver;

    public override bool IsComplete => _isComplete;

    public override ReadOnlySpan<byte> ApplicationProtocol => _protocol;

    /// <summary>What was agreed on; null before the end of the handshake.</summary>
    public TlsParameters? Parameters { get; private set; }

    /// <summary>The same with the peer's names and certificates.</summary>
    public TlsSession? Session { get; private set; }

    /// <summary>OpenSSL's memory, as an estimate. A server's is freed when the handshake is complete.</summary>
    public override int MemoryBytes => _ssl is null ? 0 : _isComplete ? SessionBytes : HandshakeBytes;

    /// <summary>Why this end refuses the handshake and with which alert; null where OpenSSL does, and says why.</summary>
    protected (int Alert, string Reason)? Refusal { get; set; }

    protected bool IsDisposed { get; private set; }

    public override void Start(ReadOnlySpan<byte> transportParameters, IHandshakeSink sink) => SetTransportParameters(transportParameters);

    public override void SetTransportParameters(ReadOnlySpan<byte> transportParameters)
    {
        // OpenSSL keeps the address.
        _parameters = GC.AllocateUninitializedArray<byte>(transportParameters.Length, pinned: true);
        transportParameters.CopyTo(_parameters);
        PassParameters();
    }

    public override void Receive(EncryptionLevel level, ReadOnlySpan<byte> bytes, IHandshakeSink sink)
    {
        if (_isOver || IsDisposed || bytes.IsEmpty)
        {
            return;
        }

        if (level != (_ssl?.ReadLevel ?? (_isComplete ? EncryptionLevel.OneRtt : EncryptionLevel.Initial)))
        {
            Fail(SslConstants.AlertUnexpectedMessage, $"messages at level {level}", sink);
        }
        else if (_messages.Advance(level, bytes, out string reason) is int alert and not 0)
        {
            Fail(alert, reason, sink);
        }
        else if (_isComplete && _ssl is null)
        {
            Fail(SslConstants.AlertUnexpectedMessage, "a message after the handshake", sink);
        }
        else
        {
            if (_ssl is null)
            {
                Begin();
            }

            Work(level, bytes, sink);
        }
    }

    public override void Dispose()
    {
        if (!IsDisposed)
        {
            IsDisposed = true;
            if (_ssl is not null && !_isComplete && !_isOver)
            {
                NoteFailure("the connection ended within it");
            }

            Free();
        }
    }

    /// <summary>Makes the <c>SSL</c> of its role.</summary>
    protected abstract QuicSsl Create();

    /// <summary>The handshake is complete: 0, or the alert to refuse it with.</summary>
    protected virtual int Confirm(ReadOnlySpan<byte> protocol) =>
        protocol.IsEmpty ? SslConstants.AlertNoApplicationProtocol : 0;

    /// <summary>Whether the peer sends messages after the handshake too.</summary>
    protected abstract bool KeepsSession { get; }

    protected virtual string DescribeFailure(OpenSslFailure failure) => failure.ToString();

    /// <summary>Makes the <c>SSL</c>; a server at its client's first bytes.</summary>
    protected void Begin()
    {
        _ssl = Create();
        counters.Made();
        PassParameters();
    }

    /// <summary>Has OpenSSL take bytes, or begin.</summary>
    protected void Work(EncryptionLevel level, ReadOnlySpan<byte> bytes, IHandshakeSink sink)
    {
        HandshakeCall call = HandshakeCall.Rent();
        try
        {
            do
            {
                bytes = bytes[_ssl!.Provide(level, bytes, call)..];
                MakeSteps(call, sink);
            }
            while (!bytes.IsEmpty && _ssl is not null && !_isOver && Continue(level, sink));
        }
        finally
        {
            call.Return();
        }
    }

    protected void Fail(int alert, string reason, IHandshakeSink sink)
    {
        _isOver = true;
        NoteFailure(reason);
        Free();
        sink.FailHandshake((byte)alert, reason);
    }

    /// <summary>More bytes are of a level that has ended meanwhile.</summary>
    private bool Continue(EncryptionLevel level, IHandshakeSink sink)
    {
        if (_ssl!.ReadLevel != level)
        {
            Fail(SslConstants.AlertUnexpectedMessage, "messages across a change of keys", sink);
            return false;
        }

        return true;
    }

    private void PassParameters()
    {
        if (_ssl is not null && _parameters.Length > 0)
        {
            _ssl.SetParameters((byte*)Marshal.UnsafeAddrOfPinnedArrayElement(_parameters, 0), _parameters.Length);
        }
    }

    private void MakeSteps(HandshakeCall call, IHandshakeSink sink)
    {
        int error;
        do
        {
            error = _ssl!.Run(call, _isComplete);
            OpenSslFailure failure = error is SslConstants.ErrorNone or SslConstants.ErrorWantRead or SslConstants.ErrorWantClientHello
                ? default
                : OpenSslErrors.Drain();
            if (!Deliver(call, sink))
            {
                return;
            }

            if (_ssl.LacksParameters)
            {
                int missing = _ssl.Failure is null ? SslConstants.AlertMissingExtension : SslConstants.AlertInternalError;
                Fail(missing, _ssl.Failure?.Message ?? "no transport parameters", sink);
                return;
            }

            if (error is not (SslConstants.ErrorNone or SslConstants.ErrorWantRead or SslConstants.ErrorWantClientHello))
            {
                // Before it has chosen a version OpenSSL sends no alerts that only TLS 1.3 has.
                (int alert, string reason) = Refusal ?? (_ssl.Alert ?? SslConstants.AlertInternalError, DescribeFailure(failure));
                Fail(alert, reason, sink);
                return;
            }
        }
        while (error == SslConstants.ErrorWantClientHello);

        if (error == SslConstants.ErrorNone && !_isComplete)
        {
            Complete(call, sink);
        }
    }

    /// <summary>Reports what has come about. False if that has ended the handshake.</summary>
    private bool Deliver(HandshakeCall call, IHandshakeSink sink)
    {
        for (int i = 0; i < call.EventCount; i++)
        {
            HandshakeEvent next = call.EventAt(i);
            ReadOnlySpan<byte> bytes = call.BytesOf(next);
            switch (next.Kind)
            {
                case HandshakeEventKind.Message:
                    sink.SendHandshake(next.Level, bytes);
                    break;
                case HandshakeEventKind.Parameters:
                    sink.ReceiveTransportParameters(bytes);
                    break;
                default:
                    InstallKeys(next, bytes, sink);
                    break;
            }

            if (IsDisposed || _isOver)
            {
                return false;
            }
        }

        call.Clear();
        return true;
    }

    private void InstallKeys(HandshakeEvent next, ReadOnlySpan<byte> secret, IHandshakeSink sink)
    {
        ushort number = LibSsl.SSL_CIPHER_get_protocol_id(LibSsl.SSL_get_current_cipher(_ssl!.Handle));
        if (QuicCipherSuite.Find(number) is not { } suite)
        {
            Fail(SslConstants.AlertInternalError, $"cipher suite {number:X4}", sink);
            return;
        }

        if (!next.IsForSending)
        {
            _ssl.BeginReading(next.Level, suite, secret);
        }

        sink.InstallKeys(next.Level, next.IsForSending, new OpenSslPacketProtector(suite, VersionKeys.Of(Version), secret));
    }

    private void Complete(HandshakeCall call, IHandshakeSink sink)
    {
        LibSsl.SSL_get0_alpn_selected(_ssl!.Handle, out byte* name, out uint count);
        _protocol = new ReadOnlySpan<byte>(name, (int)count).ToArray();
        if (Confirm(_protocol) is int alert and not 0)
        {
            Fail(alert, "no protocol was agreed on", sink);
            return;
        }

        if (call.InputStart < call.InputEnd)
        {
            Fail(SslConstants.AlertUnexpectedMessage, "a message after Finished", sink);
            return;
        }

        _isComplete = true;
        Parameters = TlsParameters.Of(_ssl.Handle);
        Session = TlsSession.Of(_ssl.Handle, Parameters, System.Text.Encoding.Latin1.GetString(_protocol));
        counters.Done(Session.IsResumed, Parameters);
        if (KeepsSession)
        {
            _ = LibSsl.SSL_free_buffers(_ssl.Handle);
        }
        else
        {
            Free();
        }

        sink.CompleteHandshake();
    }

    private void NoteFailure(string reason)
    {
        if (_isComplete)
        {
            log.SessionFailed(reason);
        }
        else
        {
            counters.Failed();
            log.HandshakeFailed(reason);
        }
    }

    private void Free()
    {
        if (_ssl is not null)
        {
            _ssl.Dispose();
            _ssl = null;
            counters.Freed();
        }

        Release();
    }

    /// <summary>Frees what else the handshake needs. More than once.</summary>
    protected virtual void Release()
    {
    }
}
