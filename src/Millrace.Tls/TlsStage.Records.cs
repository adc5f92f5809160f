using System.Diagnostics;
using System.Runtime.ExceptionServices;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Interop.Sockets;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Records;

namespace Millrace.Tls;

/// <content>Bytes through OpenSSL: the two sides of its BIO, records read, records written.</content>
internal sealed unsafe partial class TlsStage
{
    private const int NotWarm = -1;

    /// <summary>What was received and OpenSSL has not taken: the caller's, for the call.</summary>
    private byte* _received;
    private int _receivedLeft;

    /// <summary>Where OpenSSL's records go: what is being encoded, or else what waits for it.</summary>
    private OutputBatch? _sink;
    private OutputBatch? _pending;
    private Exception? _sinkFailure;

    /// <summary>What OpenSSL has said of itself since bytes came, and nobody has asked it to: alerts, answers to updates of keys.</summary>
    private int _answers;
    private int _warmPlace = NotWarm;
    private RecordSizes _sizes;
    private RecordWalk _walk;
    private IdleRecords _idle = new();

    /// <summary>OpenSSL asks for bytes. Returns how many there were.</summary>
    public int TakeReceived(Span<byte> destination)
    {
        int count = Math.Min(_receivedLeft, destination.Length);
        new ReadOnlySpan<byte>(_received, count).CopyTo(destination);
        _received += count;
        _receivedLeft -= count;
        return count;
    }

    /// <summary>OpenSSL has bytes to send. False, with the reason kept, where there is no memory for them.</summary>
    public bool TryPut(ReadOnlySpan<byte> bytes)
    {
        try
        {
            _answers += _sink is null ? 1 : 0;
            Put(bytes);
            return true;
        }
#pragma warning disable CA1031 // No exception may cross the library; it is thrown when that has returned.
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
                if (plain.Bytes > BlockPools.AnswerBytes)
                {
                    // A record is a little more than half of the usual block: in those, each would have one of its own.
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

    private void Put(ReadOnlySpan<byte> bytes) => (_sink ?? (_pending ??= Connection.Reactor.RentBatch())).Write(bytes);

    private void DropPending()
    {
        if (_pending is not null)
        {
            Connection.Reactor.ReturnBatch(_pending);
            _pending = null;
        }
    }

    /// <summary>Takes what came as far as it goes. The handler runs within, and may have ended everything.</summary>
    private void Work(ReadOnlySpan<byte> bytes)
    {
        int records = _walk.Advance(bytes);
        _answers = 0;
        bool wasEstablished = _phase == Phase.Established;
        int reads = 0;
        fixed (byte* first = bytes)
        {
            _received = first;
            _receivedLeft = bytes.Length;
            if (_phase == Phase.Handshake)
            {
                Shake();
            }

            if (_phase == Phase.Established)
            {
                reads = ReadRecords();
            }

            _received = null;
            _receivedLeft = 0;
        }

        // One record may hold thousands of messages that are each answered (RFC 5246, section 6.2.1).
        int idleRecords = _phase == Phase.Established ? Math.Max(records - reads, wasEstablished ? _answers : 0) : 0;
        if (wasEstablished && idleRecords > 0 && !_idle.TrySpend(idleRecords, Connection.Reactor.NowMs))
        {
            Fail("more records came without data than a client needs");
        }
        else if (idleRecords > 0 && LibSsl.SSL_in_init(_ssl) == 1)
        {
            // An update of keys is five bytes, which nobody splits, and what begins to negotiate anew (RFC 5246, section 7.4.1.2) may say
            // that it is 128 KiB long: OpenSSL takes memory for all of it, and writes nothing until it has come.
            Fail("a message of a handshake came in part, on a connection whose handshake is done");
        }
        else if (_pending is not null)
        {
            Connection.SendFromStage();
        }
    }

    /// <summary>Returns how many brought data.</summary>
    private int ReadRecords()
    {
        int reads = 0;
        Span<byte> plain = _desk.Scratch.Incoming;
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
        Span<byte> gathered = _desk.Scratch.Outgoing;
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
            // For want of memory. The connection cannot be ended in the middle of its send.
            NoteFailure($"OpenSSL cannot encrypt: {OpenSslErrors.Drain()}");
            Connection.SetStageDeadline(Connection.Reactor.NowMs);
            return;
        }

        Debug.Assert(written == (nuint)bytes.Length, "A BIO that takes everything is never written to in part.");
        _sizes.Written();
    }

    /// <summary>
    /// Another works now that has none. Not in the midst of a record: OpenSSL before 3.0.14, 3.1.6, 3.2.2 and 3.3.1 frees what it goes on
    /// to read from where it has the head alone (CVE-2024-4741). Of what it has decrypted nothing is left: each read takes a whole record.
    /// </summary>
    public void GiveBuffersBack()
    {
        if (_walk.IsBetweenRecords)
        {
            _ = LibSsl.SSL_free_buffers(_ssl);
        }

        _warmPlace = NotWarm;
    }

    private void LeaveWarm()
    {
        if (_warmPlace != NotWarm)
        {
            _desk.Warm.Leave(_warmPlace);
            _warmPlace = NotWarm;
        }
    }

    private void EnterLibrary()
    {
        if (_warmPlace == NotWarm)
        {
            _warmPlace = _desk.Warm.Take(this);
        }

        AtWork = this;
        OpenSslErrors.Clear();
    }

    private void LeaveLibrary()
    {
        AtWork = null;
        if (_sinkFailure is { } failure)
        {
            _sinkFailure = null;
            ExceptionDispatchInfo.Throw(failure);
        }
    }
}
