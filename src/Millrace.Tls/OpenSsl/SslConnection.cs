using System.Diagnostics;
using System.Runtime.ExceptionServices;
using Millrace.Engine.Buffers;
using Millrace.Tls.Handshakes;
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

    /// <summary>The batch that is being encoded; null outside of that.</summary>
    public OutputBatch? Sink { get; set; }

    /// <summary>Messages that OpenSSL has sent on its own since the input began: alerts, responses to key updates.</summary>
    public int Responses { get; private set; }

    public int MemoryBytes => !_isEstablished ? HandshakeBytes : _hasOwnBuffers ? SessionBytes + BuffersBytes : SessionBytes;

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

    public void Shutdown(OutputBatch sink)
    {
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
    }

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
    }
}
