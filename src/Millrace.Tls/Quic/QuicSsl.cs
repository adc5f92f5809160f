using Millrace.Quic.Protection;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Quic;

/// <summary>
/// The <c>SSL</c> of a QUIC connection: takes handshake messages in, and gives messages, secrets and transport parameters out, as events of
/// a <see cref="HandshakeCall"/>. Its handshake owns it. One thread.
/// </summary>
internal abstract unsafe class QuicSsl : SslOwner, IDisposable
{
    private readonly OpenSslQuicHandshake _handshake;
    private readonly bool _isClient;
    private bool _isRefused;

    protected QuicSsl(OpenSslQuicHandshake handshake, nint context, bool isClient)
    {
        _handshake = handshake;
        _isClient = isClient;
        Handle = LibSsl.SSL_new(context);
        if (Handle == 0)
        {
            OpenSslErrors.Clear();
            throw new InsufficientMemoryException("OpenSSL has no memory for a connection.");
        }
    }

    public nint Handle { get; private set; }

    public override IServerHandshake? Server => _handshake as IServerHandshake;

    public override IClientHandshake? Client => _handshake as IClientHandshake;

    /// <summary>The level of the messages that the peer sends next.</summary>
    public EncryptionLevel ReadLevel { get; private set; }

    /// <summary>The alert that OpenSSL has sent; null for none.</summary>
    public int? Alert { get; private set; }

    /// <summary>A fault in a callback, which could not leave it.</summary>
    public Exception? Failure { get; private set; }

    /// <summary>The peer's transport parameters have come.</summary>
    public bool HasPeerParameters { get; private set; }

    protected HandshakeCall? Call { get; private set; }

    /// <summary>The level of messages that are sent now.</summary>
    protected EncryptionLevel WriteLevel { get; private set; }

    /// <summary>Makes the one that the installed OpenSSL supports.</summary>
    public static QuicSsl Create(OpenSslQuicHandshake handshake, nint context, bool isClient)
    {
        QuicSsl made = QuicLibrary.HasCallbacks
            ? new CallbackQuicSsl(handshake, context, isClient)
            : new RecordQuicSsl(handshake, context, isClient);
        try
        {
            made.Prepare();
            if (isClient)
            {
                LibSsl.SSL_set_connect_state(made.Handle);
            }
            else
            {
                LibSsl.SSL_set_accept_state(made.Handle);
            }

            return made;
        }
        catch
        {
            made.Dispose();
            throw;
        }
    }

    /// <summary>Begins a call with the next bytes of the peer's messages. Returns how many of them it took.</summary>
    public abstract int Provide(EncryptionLevel level, ReadOnlySpan<byte> bytes, HandshakeCall call);

    /// <summary>The parameters of this end, which the caller keeps and which do not move.</summary>
    public abstract void SetParameters(byte* bytes, int count);

    /// <summary>The peer's messages come at a next level. Called before any of them.</summary>
    public virtual void BeginReading(EncryptionLevel level, QuicCipherSuite suite, ReadOnlySpan<byte> secret) => ReadLevel = level;

    /// <summary>
    /// Has OpenSSL go on. Returns an error of <c>SSL_get_error</c>; <see cref="SslConstants.ErrorNone"/> when the handshake is complete.
    /// </summary>
    public int Run(HandshakeCall call, bool isComplete)
    {
        byte* none = stackalloc byte[1];
        OpenSslErrors.Clear();
        Call = call;
        Current = this;
        int result = isComplete
            ? LibSsl.SSL_read_ex(Handle, new Span<byte>(none, 1), 1, out _)
            : LibSsl.SSL_do_handshake(Handle);
        int error = result == 1 ? SslConstants.ErrorNone : LibSsl.SSL_get_error(Handle, result);
        Current = null;
        Call = null;
        return error;
    }

    /// <summary>A message to send.</summary>
    public void TakeMessage(ReadOnlySpan<byte> message) => Add(HandshakeEventKind.Message, WriteLevel, isForSending: true, message);

    /// <summary>A secret of traffic. One that lets the peer's data in comes after the peer's transport parameters.</summary>
    public void TakeSecret(EncryptionLevel level, bool isForSending, ReadOnlySpan<byte> secret)
    {
        if (!HasPeerParameters && (level == EncryptionLevel.OneRtt || !_isClient))
        {
            _isRefused = true;
        }

        if (isForSending)
        {
            WriteLevel = level;
        }

        Add(HandshakeEventKind.Secret, level, isForSending, secret);
    }

    public void TakeParameters(ReadOnlySpan<byte> parameters)
    {
        if (!HasPeerParameters)
        {
            HasPeerParameters = true;
            Add(HandshakeEventKind.Parameters, EncryptionLevel.Initial, isForSending: false, parameters);
        }
    }

    public void TakeAlert(int alert) => Alert ??= alert;

    /// <summary>Whether the peer has sent no transport parameters by when they were due.</summary>
    public bool LacksParameters => _isRefused;

    public void Dispose()
    {
        // Otherwise the sessions of a connection that was not shut down are not resumed.
        LibSsl.SSL_set_shutdown(Handle, SslConstants.ShutdownBoth);
        LibSsl.SSL_free(Handle);
        Handle = 0;
        Release();
    }

    /// <summary>Frees what else it has.</summary>
    protected virtual void Release()
    {
    }

    /// <summary>Installs what calls back.</summary>
    protected abstract void Prepare();

    private void Add(HandshakeEventKind kind, EncryptionLevel level, bool isForSending, ReadOnlySpan<byte> bytes)
    {
        if (_isRefused || Call is null)
        {
            return;
        }

        try
        {
            Call.Add(kind, level, isForSending, bytes);
        }
        catch (OutOfMemoryException failure)
        {
            // It may not cross the library: the handshake fails when that has returned.
            Failure = failure;
            _isRefused = true;
        }
    }
}
