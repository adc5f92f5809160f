using System.Buffers;
using System.Diagnostics;
using System.Runtime.ExceptionServices;
using System.Security.Cryptography;
using Millrace.Engine.Buffers;
using Millrace.Tls.Handshakes;
using Millrace.Tls.Quic;
using Millrace.Tls.Records;

namespace Millrace.Tls.OpenSsl;

/// <summary>
/// An <c>SSL</c> of OpenSSL and the other side of its BIO: it reads records from the bytes that the filter received, and writes its own to
/// the batch that is sent, or to the filter's pending one. Its buffers are kept while it is among those that worked last
/// (<see cref="RecordBufferCache"/>). Reactor thread only.
/// </summary>
internal sealed unsafe class SslConnection : SslOwner
{
    private const int NotCached = -1;

    /// <summary>OpenSSL's memory for an unfinished handshake (measured: 47 KB), for an idle session (13 KB), and for its buffers.</summary>
    private const int HandshakeBytes = 48 * 1024;
    private const int SessionBytes = 16 * 1024;
    private const int BuffersBytes = 34 * 1024;

    private readonly RecordBufferCache _cache;
    private int _cacheIndex = NotCached;
    private bool _isEstablished;

    /// <summary>Whether it keeps buffers that are not in the cache.</summary>
    private bool _hasOwnBuffers;

    /// <summary>Received bytes that OpenSSL has not taken: the caller's memory, valid for the call.</summary>
    private byte* _received;
    private int _receivedLeft;
    private RecordCounter _recordCounter;
    private Exception? _sinkFailure;

    /// <summary>The secret of what this end sends after the handshake, until the handshake's end. TLS 1.3 only.</summary>
    private byte[]? _secret;

    /// <summary>Follows what OpenSSL sends in a handshake: records of the current call, which it may hand over in pieces.</summary>
    private RecordCounter _sentCounter;
    private int _sentRecords;

    /// <summary>What OpenSSL would have sent in the current call, and the sealer has to.</summary>
    private bool _owesKeyUpdate;
    private int _owedAlert;

    public SslConnection(TlsFilter filter, nint context, RecordBufferCache cache)
    {
        Filter = filter;
        _cache = cache;
        Handle = LibSsl.SSL_new(context);
        if (Handle == 0)
        {
            OpenSslErrors.Clear();
            throw new InsufficientMemoryException("OpenSSL has no memory for a connection.");
        }
    }

    public TlsFilter Filter { get; }

    public override IServerHandshake? Server => Filter as IServerHandshake;

    public override IClientHandshake? Client => Filter as IClientHandshake;

    public bool IsClient { get; private set; }

    public nint Handle { get; }

    /// <summary>
    /// Makes the records of TLS 1.3 from the end of the handshake on; null before, and with TLS 1.2, where OpenSSL makes them.
    /// </summary>
    public RecordSealer? Sealer { get; private set; }

    /// <summary>The batch that is being encoded; null outside of that.</summary>
    public OutputBatch? Sink { get; set; }

    /// <summary>Messages that OpenSSL has sent on its own since the input began: alerts, responses to key updates.</summary>
    public int Responses { get; private set; }

    public int MemoryBytes => !_isEstablished
        ? HandshakeBytes
        : SessionBytes + (_hasOwnBuffers ? BuffersBytes : 0) + (Sealer is null ? 0 : RecordSealer.MemoryBytes);

    public bool IsTls13 => LibSsl.SSL_version(Handle) == SslConstants.Tls13Version;

    public bool IsResumed => LibSsl.SSL_session_reused(Handle) == 1;

    /// <summary>Whether the server has chosen the only protocol that the client offers.</summary>
    public bool HasSelectedHttp11
    {
        get
        {
            LibSsl.SSL_get0_alpn_selected(Handle, out byte* name, out uint count);
            return new ReadOnlySpan<byte>(name, (int)count).SequenceEqual("http/1.1"u8);
        }
    }

    /// <summary>Whether OpenSSL waits for the rest of a handshake message.</summary>
    public bool IsInMessage => LibSsl.SSL_in_init(Handle) == 1;

    /// <summary>Whether another <see cref="Read"/> may return data.</summary>
    public bool HasInput => _receivedLeft > 0 || LibSsl.SSL_has_pending(Handle) == 1;

    /// <summary>Makes it the server of its connection. A failure leaves it to be freed.</summary>
    public void Accept()
    {
        nint bio = FilterBio.New();
        LibSsl.SSL_set_bio(Handle, bio, bio);
        LibSsl.SSL_set_accept_state(Handle);
    }

    /// <summary>Makes it the client of its connection. A failure leaves it to be freed.</summary>
    public void Connect()
    {
        nint bio = FilterBio.New();
        LibSsl.SSL_set_bio(Handle, bio, bio);
        LibSsl.SSL_set_connect_state(Handle);
        IsClient = true;
    }

    /// <summary>Lends it received bytes, until <see cref="EndInput"/>. Returns how many records end in them.</summary>
    public int BeginInput(byte* bytes, int count)
    {
        _received = bytes;
        _receivedLeft = count;
        Responses = 0;
        return _recordCounter.Advance(new ReadOnlySpan<byte>(bytes, count));
    }

    public void EndInput()
    {
        _received = null;
        _receivedLeft = 0;
    }

    /// <summary>Returns an error of <c>SSL_get_error</c>.</summary>
    public int DoHandshake()
    {
        Enter();
        int result = LibSsl.SSL_do_handshake(Handle);
        Leave();
        _isEstablished = result == 1;
        if (_isEstablished)
        {
            TakeOverSending();
        }

        return _isEstablished ? SslConstants.ErrorNone : LibSsl.SSL_get_error(Handle, result);
    }

    /// <summary>Returns an error of <c>SSL_get_error</c>.</summary>
    public int Read(Span<byte> plain, out int count)
    {
        Enter();
        int result = LibSsl.SSL_read_ex(Handle, plain, (nuint)plain.Length, out nuint read);
        Leave();
        count = result == 1 ? (int)read : 0;
        return result == 1 ? SslConstants.ErrorNone : LibSsl.SSL_get_error(Handle, result);
    }

    /// <summary>Writes one record. False if OpenSSL has no memory.</summary>
    public bool TryWrite(ReadOnlySpan<byte> plain)
    {
        Enter();
        int result = LibSsl.SSL_write_ex(Handle, plain, (nuint)plain.Length, out nuint written);
        Leave();
        Debug.Assert(result != 1 || written == (nuint)plain.Length, "A BIO that takes everything is never written to in part.");
        return result == 1;
    }

    /// <summary>
    /// Answers a key update that asks for one. OpenSSL would answer at its next write, and there is none: it is made to send its own, which
    /// no peer could read, and takes the request for answered.
    /// </summary>
    /// <returns>False if OpenSSL has failed.</returns>
    public bool TryAnswerKeyUpdate()
    {
        if (Sealer is null || LibSsl.SSL_get_key_update_type(Handle) != SslConstants.KeyUpdateNotRequested)
        {
            return true;
        }

        Enter();
        bool isAnswered = LibSsl.SSL_key_update(Handle, SslConstants.KeyUpdateNotRequested) == 1 && LibSsl.SSL_do_handshake(Handle) == 1;
        Leave();
        return isAnswered;
    }

    public void Shutdown(OutputBatch sink)
    {
        if (Sealer is not null)
        {
            Sealer.WriteAlert(SslConstants.AlertWarning, SslConstants.AlertCloseNotify, sink);

            // Otherwise OpenSSL takes the connection for one that has failed, and its session is not resumed.
            LibSsl.SSL_set_shutdown(Handle, SslConstants.SentShutdown);
            return;
        }

        Sink = sink;
        try
        {
            Enter();
            _ = LibSsl.SSL_shutdown(Handle);
            Leave();
        }
        finally
        {
            Sink = null;
        }
    }

    public override int TakeReceived(Span<byte> destination)
    {
        int count = Math.Min(_receivedLeft, destination.Length);
        new ReadOnlySpan<byte>(_received, count).CopyTo(destination);
        _received += count;
        _receivedLeft -= count;
        return count;
    }

    /// <summary>False when there is no memory for them; the exception is kept.</summary>
    public override bool TryPut(ReadOnlySpan<byte> bytes)
    {
        try
        {
            if (Sink is null)
            {
                Responses++;
            }

            if (Sealer is not null)
            {
                // Of its own count of records, so no peer could read it. What is no alert answers a key update.
                _owesKeyUpdate |= _owedAlert == 0;
            }
            else if (Sink is null)
            {
                _sentRecords += _isEstablished ? 0 : _sentCounter.Advance(bytes);
                Filter.Put(bytes);
            }
            else
            {
                Sink.Write(bytes);
            }

            return true;
        }
#pragma warning disable CA1031 // No exception may cross the library; it is rethrown after the call.
        catch (Exception failure)
#pragma warning restore CA1031
        {
            _sinkFailure = failure;
            return false;
        }
    }

    /// <summary>
    /// Frees OpenSSL's buffers, as another connection needs the slot in the cache. Not within a record: OpenSSL before 3.0.14, 3.1.6, 3.2.2
    /// and 3.3.1 frees what it still reads from when it has only the header (CVE-2024-4741). No decrypted data is left: each read takes a
    /// whole record.
    /// </summary>
    public void FreeBuffers()
    {
        _cacheIndex = NotCached;
        if (_recordCounter.IsBetweenRecords)
        {
            _ = LibSsl.SSL_free_buffers(Handle);
        }
        else
        {
            _hasOwnBuffers = true;
            Filter.CountMemory();
        }
    }

    public void Free()
    {
        if (_cacheIndex != NotCached)
        {
            _cache.Leave(_cacheIndex);
        }

        LibSsl.SSL_free(Handle);
        Sealer?.Dispose();
        ForgetSecret();
    }

    /// <summary>Takes the secret of this end's application data from a line of the key log: label, client's random, secret.</summary>
    public override void TakeSecret(ReadOnlySpan<byte> line)
    {
        ReadOnlySpan<byte> label = IsClient ? "CLIENT_TRAFFIC_SECRET_0 "u8 : "SERVER_TRAFFIC_SECRET_0 "u8;
        if (line.StartsWith(label))
        {
            ReadOnlySpan<byte> digits = line[(line.LastIndexOf((byte)' ') + 1)..];
            byte[] secret = GC.AllocateUninitializedArray<byte>(digits.Length / 2, pinned: true);
            _secret = Convert.FromHexString(digits, secret, out _, out _) == OperationStatus.Done ? secret : null;
        }
    }

    /// <summary>An alert that OpenSSL sends: its level and description.</summary>
    public override void NoteSentAlert(int levelAndDescription) => _owedAlert = levelAndDescription;

    private void Enter()
    {
        if (_cacheIndex == NotCached)
        {
            _cacheIndex = _cache.Take(this);
            if (_hasOwnBuffers)
            {
                _hasOwnBuffers = false;
                Filter.CountMemory();
            }
        }

        Current = this;
        _sentCounter = default;
        _sentRecords = 0;
        OpenSslErrors.Clear();
    }

    private void Leave()
    {
        Current = null;
        if (_sinkFailure is { } failure)
        {
            _sinkFailure = null;
            ExceptionDispatchInfo.Throw(failure);
        }

        if (Sealer is not null && (_owesKeyUpdate || _owedAlert != 0))
        {
            SendOwed(Sealer);
        }
    }

    private void SendOwed(RecordSealer sealer)
    {
        OutputBatch pending = Filter.Pending;
        if (_owesKeyUpdate && _owedAlert == 0)
        {
            sealer.UpdateKey(pending);
        }
        else if (_owedAlert != 0)
        {
            sealer.WriteAlert((byte)(_owedAlert >> 8), (byte)_owedAlert, pending);
        }

        _owesKeyUpdate = false;
        _owedAlert = 0;
    }

    /// <summary>
    /// From here on the sealer makes the records, where it can. A server's first ones have the session's tickets, and are OpenSSL's: all
    /// that it sends in the call that has received the client's Finished. A client sends its own Finished in that call, with other keys.
    /// </summary>
    private void TakeOverSending()
    {
        if (_secret is not null && IsTls13 && !HasShortRecords && (IsClient || _sentCounter.IsBetweenRecords)
            && QuicCipherSuite.Find(LibSsl.SSL_CIPHER_get_protocol_id(LibSsl.SSL_get_current_cipher(Handle))) is { Cipher: not 0 } suite
            && suite.SecretLength == _secret.Length)
        {
            Sealer = new RecordSealer(suite, _secret, (ulong)(IsClient ? 0 : _sentRecords));
        }

        ForgetSecret();
        _owedAlert = 0;
    }

    /// <summary>Whether the peers have agreed on smaller records (max_fragment_length, RFC 6066, section 4). OpenSSL makes them.</summary>
    private bool HasShortRecords => LibSsl.SSL_SESSION_get_max_fragment_length(LibSsl.SSL_get_session(Handle)) != 0;

    private void ForgetSecret()
    {
        CryptographicOperations.ZeroMemory(_secret);
        _secret = null;
    }
}
