using System.Runtime.CompilerServices;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends.Epoll;

internal enum SendStep : byte
{
    /// <summary>All is sent, or an error ended it.</summary>
    Ended,

    /// <summary>The socket takes no more for now.</summary>
    Blocked,

    /// <summary>The socket takes more, but others want their turn.</summary>
    Interrupted,
}

/// <summary>
/// One send, of one part or several, on its way: it ends when all was queued or at an error, as io_uring's with MSG_WAITALL does.
/// The memory is the caller's and is not written to.
/// </summary>
internal unsafe struct PendingSend
{
    /// <summary>Calls before others have their turn: a reader as fast as loopback would keep a reactor for a whole body.</summary>
    private const int CallsPerStep = 4;

    /// <summary>The kernel cuts what one call moves to this (MAX_RW_COUNT), and a result is an int.</summary>
    private const long BytesMax = 0x7fff_f000;

    /// <summary>Parts that one call takes once a message has been cut somewhere.</summary>
    private const int PartsPerCall = 64;

    private readonly byte* _data;
    private readonly MessageHeader* _message;
    private readonly long _bytes;
    private nuint _part;
    private nuint _partSent;
    private long _sent;

    public PendingSend(OperationToken token, byte* data, nuint bytes)
    {
        Token = token;
        _data = data;
        _bytes = (long)nuint.Min(bytes, (nuint)BytesMax);
    }

    public PendingSend(OperationToken token, MessageHeader* message)
    {
        Token = token;
        _message = message;
        for (nuint i = 0; i < message->VectorCount; i++)
        {
            _bytes += (long)message->Vectors[i].Bytes;
        }

        _bytes = Math.Min(_bytes, BytesMax);
    }

    private PendingSend(OperationToken token) => Token = token;

    public OperationToken Token { get; }

    /// <summary>Sends nothing: it ends when the socket takes something.</summary>
    public static PendingSend ForRoom(OperationToken token) => new(token);

    /// <summary>What it came to: the bytes sent, or where there are none the error.</summary>
    public readonly int ResultAfter(int error) => _sent > 0 ? (int)_sent : error;

    /// <summary>Sends on; <paramref name="result"/> is the operation's where it has ended.</summary>
    public SendStep Advance(int socket, out int result)
    {
        result = 0;
        if (_bytes == 0)
        {
            return SendStep.Ended;
        }

        for (int calls = 0; calls < CallsPerStep; calls++)
        {
            nint sent = Send(socket);
            if (sent >= 0)
            {
                Take(sent);
                if (_sent == _bytes)
                {
                    result = (int)_sent;
                    return SendStep.Ended;
                }
            }
            else if (sent == -Errno.EAGAIN)
            {
                return SendStep.Blocked;
            }
            else if (sent != -Errno.EINTR)
            {
                result = ResultAfter((int)sent);
                return SendStep.Ended;
            }
        }

        return SendStep.Interrupted;
    }

    private readonly nint Send(int socket) =>
        _message is null ? TransferCalls.Send(socket, _data + _sent, (nuint)(_bytes - _sent))
        : _sent == 0 ? TransferCalls.SendMessage(socket, _message)
        : SendRest(socket);

    [SkipLocalsInit]
    private readonly nint SendRest(int socket)
    {
        IoVector* parts = stackalloc IoVector[PartsPerCall];
        nuint count = 0;
        nuint skip = _partSent;
        nuint room = (nuint)(_bytes - _sent);
        for (nuint i = _part; i < _message->VectorCount && count < PartsPerCall && room > 0; i++)
        {
            IoVector part = _message->Vectors[i];
            nuint bytes = nuint.Min(part.Bytes - skip, room);
            parts[count++] = new IoVector { Address = part.Address + skip, Bytes = bytes };
            room -= bytes;
            skip = 0;
        }

        var message = new MessageHeader { Vectors = parts, VectorCount = count };
        return TransferCalls.SendMessage(socket, &message);
    }

    private void Take(nint sent)
    {
        _sent += sent;
        if (_message is null)
        {
            return;
        }

        _partSent += (nuint)sent;
        while (_part < _message->VectorCount && _partSent >= _message->Vectors[_part].Bytes)
        {
            _partSent -= _message->Vectors[_part].Bytes;
            _part++;
        }
    }
}
