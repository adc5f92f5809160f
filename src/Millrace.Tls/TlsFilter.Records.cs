using System.Diagnostics;
using System.Runtime.ExceptionServices;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Interop.Sockets;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Records;

namespace Millrace.Tls;

/// <content>Bytes through OpenSSL: both sides of its BIO, reading and writing of records.</content>
internal sealed unsafe partial class TlsFilter
{
    private const int NotCached = -1;

    /// <summary>Received bytes that OpenSSL has not taken: the caller's memory, valid for the call.</summary>
    private byte* _received;
    private int _receivedLeft;

    /// <summary>The target of OpenSSL's records: the batch being encoded, or else the pending one.</summary>
    private OutputBatch? _sink;
    private OutputBatch? _pending;
    private Exception? _sinkFailure;

    /// <summary>Messages that OpenSSL has sent on its own since bytes arrived: alerts, responses to key updates.</summary>
    private int _responses;
    private int _cacheIndex = NotCached;
    private RecordSizes _sizes;
    private RecordCounter _recordCounter;
    private EmptyRecordLimiter _emptyRecords = new();

    /// <summary>OpenSSL reads bytes. Returns the count.</summary>
    public int TakeReceived(Span<byte> destination)
    {
        int count = Math.Min(_receivedLeft, destination.Length);
        new ReadOnlySpan<byte>(_received, count).CopyTo(destination);
        _received += count;
        _receivedLeft -= count;
        return count;
    }

    /// <summary>OpenSSL sends bytes. False when there is no memory for them; the exception is kept.</summary>
    public bool TryPut(ReadOnlySpan<byte> bytes)
    {
        try
        {
            _responses += _sink is null ? 1 : 0;
            Put(bytes);
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

    public override void Encode(OutputBatch plain, OutputBatch encoded)
    {
        if (_pending is not null)
        {
            foreach (ref readonly IoVector part in _pending.Parts)
            {
                encoded.Write(new ReadOnlySpan<byte>(part.Address, (int)part.Bytes));
            }

            DropPending();
        }

        Debug.Assert(_phase != Phase.Handshake || plain.Bytes == 0, "The handler is held until the handshake is done.");
        if (plain.Bytes > 0 && _phase is Phase.Established or Phase.PeerClosed)
        {
            _sink = encoded;
            try
            {
                if (plain.Bytes > BlockPools.ResponseBytes)
                {
                    // A record is a little more than half of the usual block, so with those each record would take a block of its own.
                    _ = encoded.GetSpan((int)Math.Min(plain.Bytes, BlockPools.ChunkBytes));
                }

                WriteRecords(plain.Parts);
            }
            finally
            {
                _sink = null;
            }
        }
    }

    public override void EncodeEnd(OutputBatch encoded)
    {
        if (_phase is not (Phase.Established or Phase.PeerClosed))
        {
            return;
        }

        _sink = encoded;
        try
        {
            EnterLibrary();
            _ = LibSsl.SSL_shutdown(_ssl);
            LeaveLibrary();
        }
        finally
        {
            _sink = null;
        }
    }

    private void Put(ReadOnlySpan<byte> bytes) => (_sink ?? (_pending ??= Connection.Reactor.Batches.Rent(Connection))).Write(bytes);

    private void DropPending()
    {
        if (_pending is not null)
        {
            Connection.Reactor.Batches.Return(_pending);
            _pending = null;
        }
    }

    /// <summary>Processes received bytes as far as possible. Runs the handler, which may end everything.</summary>
    private void Work(ReadOnlySpan<byte> bytes)
    {
        int records = _recordCounter.Advance(bytes);
        _responses = 0;
        bool wasEstablished = _phase == Phase.Established;
        int reads = 0;
        fixed (byte* first = bytes)
        {
            _received = first;
            _receivedLeft = bytes.Length;
            try
            {
                if (_phase == Phase.Handshake)
                {
                    ContinueHandshake();
                }

                if (_phase == Phase.Established)
                {
                    reads = ReadRecords();
                }
            }
            finally
            {
                // Also when the handler has thrown: after the call the memory is no longer valid.
                _received = null;
                _receivedLeft = 0;
            }
        }

        // One record may hold thousands of messages, each of which gets a response (RFC 5246, section 6.2.1).
        int idleRecords = _phase == Phase.Established ? Math.Max(records - reads, wasEstablished ? _responses : 0) : 0;
        if (wasEstablished && idleRecords > 0 && !_emptyRecords.TrySpend(idleRecords, Connection.Reactor.NowMs))
        {
            Fail("the client sent more records without data than it needs");
        }
        else if (idleRecords > 0 && LibSsl.SSL_in_init(_ssl) == 1)
        {
            // A key update is five bytes, which no client splits; but a message that starts a renegotiation (RFC 5246, section 7.4.1.2) may
            // announce 128 KiB: OpenSSL allocates all of it, and responds only when it is complete.
            Fail("the client sent part of a handshake message after the handshake");
        }
        else if (_pending is not null)
        {
            Connection.Filters.RequestSend();
        }
    }

    /// <summary>Returns how many records contained data.</summary>
    private int ReadRecords()
    {
        int reads = 0;
        Span<byte> plain = _reactorState.Scratch.Incoming;
        fixed (byte* first = plain)
        {
            do
            {
                EnterLibrary();
                nuint count;
                int result = LibSsl.SSL_read_ex(_ssl, first, (nuint)plain.Length, &count);
                LeaveLibrary();
                if (result != 1)
                {
                    EndOfRecords(LibSsl.SSL_get_error(_ssl, result));
                    return reads;
                }

                reads++;
                PassIn(plain[..(int)count]);
            }
            while (_phase == Phase.Established && (_receivedLeft > 0 || LibSsl.SSL_has_pending(_ssl) == 1));
        }

        return reads;
    }

    private void EndOfRecords(int error)
    {
        if (error == SslConstants.ErrorWantRead)
        {
            return;
        }

        if (error == SslConstants.ErrorZeroReturn)
        {
            _phase = Phase.PeerClosed;
            PassInEnd(ReceiveEnd.Finished);
        }
        else
        {
            Fail(OpenSslErrors.Drain().ToString());
        }
    }

    private void WriteRecords(ReadOnlySpan<IoVector> parts)
    {
        _sizes.Begin(Connection.Reactor.NowMs);
        Span<byte> gathered = _reactorState.Scratch.Outgoing;
        int count = 0;
        for (int i = 0; i < parts.Length; i++)
        {
            var left = new ReadOnlySpan<byte>(parts[i].Address, (int)parts[i].Bytes);
            while (left.Length > 0 && _phase != Phase.Failed)
            {
                int most = _sizes.Current;
                if (count == 0 && (left.Length >= most || i == parts.Length - 1))
                {
                    int size = Math.Min(left.Length, most);
                    WriteRecord(left[..size]);
                    left = left[size..];
                    continue;
                }

                // A copy of some kilobytes is cheaper than a second record.
                int more = Math.Min(left.Length, most - count);
                left[..more].CopyTo(gathered[count..]);
                left = left[more..];
                count += more;
                if (count == most)
                {
                    WriteRecord(gathered[..count]);
                    count = 0;
                }
            }
        }

        if (count > 0 && _phase != Phase.Failed)
        {
            WriteRecord(gathered[..count]);
        }
    }

    private void WriteRecord(ReadOnlySpan<byte> bytes)
    {
        EnterLibrary();
        nuint written;
        int result;
        fixed (byte* first = bytes)
        {
            result = LibSsl.SSL_write_ex(_ssl, first, (nuint)bytes.Length, &written);
        }

        LeaveLibrary();
        if (result != 1)
        {
            // Out of memory. The connection cannot be ended in the middle of its send, so the deadline ends it.
            NoteFailure($"OpenSSL cannot encrypt: {OpenSslErrors.Drain()}");
            Connection.Timers.SetFilterDeadline(Connection.Reactor.NowMs);
            return;
        }

        Debug.Assert(written == (nuint)bytes.Length, "A BIO that takes everything is never written to in part.");
        _sizes.Written();
    }

    /// <summary>
    /// Frees OpenSSL's buffers, as another connection needs the slot in the cache. Not within a record: OpenSSL before 3.0.14, 3.1.6, 3.2.2
    /// and 3.3.1 frees what it still reads from when it has only the header (CVE-2024-4741). No decrypted data is left: each read takes a
    /// whole record.
    /// </summary>
    public void FreeBuffers()
    {
        if (_recordCounter.IsBetweenRecords)
        {
            _ = LibSsl.SSL_free_buffers(_ssl);
        }
        else if (_phase == Phase.Established)
        {
            Count(SessionBytes + BuffersBytes);
        }

        _cacheIndex = NotCached;
    }

    private void LeaveCache()
    {
        if (_cacheIndex != NotCached)
        {
            _reactorState.BufferCache.Leave(_cacheIndex);
            _cacheIndex = NotCached;
        }
    }

    private void EnterLibrary()
    {
        if (_cacheIndex == NotCached)
        {
            _cacheIndex = _reactorState.BufferCache.Take(this);
            if (_phase == Phase.Established)
            {
                Count(SessionBytes);
            }
        }

        Current = this;
        OpenSslErrors.Clear();
    }

    private void LeaveLibrary()
    {
        Current = null;
        if (_sinkFailure is { } failure)
        {
            _sinkFailure = null;
            ExceptionDispatchInfo.Throw(failure);
        }
    }
}
