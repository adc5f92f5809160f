using Millrace.Engine.Backends;
using Millrace.Interop.Sockets;

namespace Millrace.Simulation.Tests.Kernel;

/// <summary>
/// One submitted operation. Its memory is the kernel's until its terminal completion was returned: it is fingerprinted when it is handed
/// over, and must be the same when it is given back.
/// </summary>
internal sealed unsafe class Operation(OperationToken token, SimulatedSocket? socket)
{
    private byte* _data;
    private MessageHeader* _message;
    private int _fingerprint;

    public OperationToken Token { get; } = token;

    public OperationKind Kind => Token.Kind;

    /// <summary>The connection it is for; null for those of a listener, and for reads of which only the handler knows whose they are.</summary>
    public SimulatedSocket? Socket { get; } = socket;

    public int Connection => Socket?.Number ?? Runs.Trace.Kernel;

    /// <summary>The descriptor it was submitted for.</summary>
    public int Target { get; init; }

    /// <summary>Bytes of memory that were handed over.</summary>
    public long Bytes { get; private set; }

    /// <summary>How many of them were sent.</summary>
    public long Transferred { get; private set; }

    /// <summary>It sends nothing: it ends when the socket takes something.</summary>
    public bool AwaitsRoom { get; init; }

    /// <summary>A receive that ends with the first bytes.</summary>
    public bool IsOnce { get; init; }

    /// <summary>Where a connect leads.</summary>
    public int Port { get; init; }

    public int File { get; private set; }

    public long Offset { get; private set; }

    public bool IsRead => Kind is OperationKind.FileRead or OperationKind.FileReadOperation;

    /// <summary>Its terminal completion is on its way.</summary>
    public bool IsFinished { get; set; }

    /// <summary>Completions that are kept back, the first the oldest; null for none.</summary>
    public Queue<Completion>? Held { get; set; }

    public Span<byte> Destination => new(_data, (int)Bytes);

    public void HandOver(byte* data, nuint bytes)
    {
        _data = data;
        Bytes = (long)bytes;
        Seal();
    }

    public void HandOver(MessageHeader* message)
    {
        _message = message;
        foreach (IoVector part in Parts)
        {
            Bytes += (long)part.Bytes;
        }

        Seal();
    }

    public void HandOver(int file, byte* destination, int bytes, long offset)
    {
        File = file;
        Offset = offset;
        HandOver(destination, (nuint)bytes);
    }

    /// <summary>The memory as it is now is how it has to stay: it was handed over, or the kernel wrote to it.</summary>
    public void Seal() => _fingerprint = Fingerprint();

    /// <summary>Whether nobody has written to the memory since.</summary>
    public bool IsUntouched() => (_data is null && _message is null) || _fingerprint == Fingerprint();

    /// <summary>Moves bytes that were not sent yet to where they are read from.</summary>
    public void Transfer(Span<byte> destination)
    {
        if (_message is null)
        {
            new ReadOnlySpan<byte>(_data + Transferred, destination.Length).CopyTo(destination);
            Transferred += destination.Length;
            return;
        }

        long skip = Transferred;
        Transferred += destination.Length;
        foreach (IoVector part in Parts)
        {
            long partBytes = (long)part.Bytes;
            if (skip < partBytes && destination.Length > 0)
            {
                int count = (int)Math.Min(partBytes - skip, destination.Length);
                new ReadOnlySpan<byte>(part.Address + skip, count).CopyTo(destination);
                destination = destination[count..];
                skip = 0;
            }
            else
            {
                skip -= Math.Min(skip, partBytes);
            }
        }
    }

    private ReadOnlySpan<IoVector> Parts => new(_message->Vectors, (int)_message->VectorCount);

    private int Fingerprint()
    {
        var hash = new HashCode();
        if (_message is not null)
        {
            hash.AddBytes(new ReadOnlySpan<byte>(_message, sizeof(MessageHeader)));
            foreach (IoVector part in Parts)
            {
                hash.Add((nint)part.Address);
                hash.AddBytes(new ReadOnlySpan<byte>(part.Address, (int)part.Bytes));
            }
        }
        else if (_data is not null)
        {
            hash.AddBytes(new ReadOnlySpan<byte>(_data, (int)Bytes));
        }

        return hash.ToHashCode();
    }
}
