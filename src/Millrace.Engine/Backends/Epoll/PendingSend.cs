using System.Runtime.CompilerServices;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends.Epoll;

internal enum SendStep : byte
{
    /// <summary>All bytes are sent, or an error occurred.</summary>
    Ended,

    Blocked,

    /// <summary>The socket accepts more, but other sockets are served first.</summary>
    Interrupted,
}

/// <summary>
/// One send of one or more parts: it ends when all is queued or at an error, as io_uring's does with MSG_WAITALL. The caller owns the
/// memory, which is not written to.
/// </summary>
internal unsafe struct PendingSend
{
    /// <summary>Calls per step: a reader as fast as loopback would occupy the reactor for a whole body.</summary>
    private const int CallsPerStep = 4;

    /// <summary>The kernel's limit for one call (MAX_RW_COUNT); the result is an int.</summary>
    private const long BytesMax = 0x7fff_f000;

    /// <summary>Parts per call after a message was cut.</summary>
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

    /// <summary>Sends nothing: ends when the socket accepts bytes.</summary>
    public static PendingSend ForRoom(OperationToken token) => new(token);

    /// <summary>The operation's result: the bytes sent, or the error if there are none.</summary>
    public readonly int ResultAfter(int error) => _sent > 0 ? (int)_sent : error;

    /// <summary>Continues the send; <paramref name="result"/> is the operation's result if it has ended.</summary>
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
        : SendRemaining(socket);

    [SkipLocalsInit]
    private readonly nint SendRemaining(int socket)
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
