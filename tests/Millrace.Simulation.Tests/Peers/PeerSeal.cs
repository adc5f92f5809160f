using System.Buffers.Binary;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Peers;

/// <summary>A client's side of <see cref="SealFilter"/>.</summary>
internal sealed class PeerSeal
{
    public const int RecordBytesMax = 1_000;

    private readonly ulong _own;
    private readonly List<byte> _pending = [];
    private Seal _in = Seal.Open;
    private Seal? _out;
    private byte[] _wire;
    private int _sent;

    public PeerSeal(SeededRandom random)
    {
        _own = random.Next();
        byte[] hello = new byte[sizeof(ulong)];
        BinaryPrimitives.WriteUInt64LittleEndian(hello, _own);
        _wire = Seal.Open.Write(SealRecord.Hello, hello);
    }

    /// <summary>Sealed bytes that were not sent.</summary>
    public ReadOnlySpan<byte> Outgoing => _wire.AsSpan(_sent);

    /// <summary>Whether both sides have their keys.</summary>
    public bool IsOpen => _out is not null;

    public bool HadLastWord { get; private set; }

    public void OnSent(int count) => _sent += count;

    public void Add(ReadOnlySpan<byte> plain) => Add(_out!.Write(SealRecord.Data, plain));

    public void AddLastWord() => Add(_out!.Write(SealRecord.LastWord, []));

    /// <summary>What the bytes say; null where they are none of this connection's.</summary>
    public byte[]? Open(ReadOnlySpan<byte> bytes)
    {
        _pending.AddRange(bytes);
        var plain = new List<byte>();
        while (_in.TryRead(_pending, out SealRecord kind, out byte[]? opened))
        {
            if (opened is null || HadLastWord || (kind == SealRecord.Hello) == IsOpen)
            {
                return null;
            }

            HadLastWord = kind == SealRecord.LastWord;
            if (kind == SealRecord.Hello)
            {
                ulong theirs = BinaryPrimitives.ReadUInt64LittleEndian(opened);
                _in = new Seal(Seal.KeyOf(_own, theirs, isServers: true));
                _out = new Seal(Seal.KeyOf(_own, theirs, isServers: false));
                Add(_out.Write(SealRecord.Finished, []));
            }
            else
            {
                plain.AddRange(opened);
            }
        }

        return [.. plain];
    }

    private void Add(byte[] record)
    {
        _wire = [.. Outgoing, .. record];
        _sent = 0;
    }
}
