using System.Buffers.Binary;
using System.Runtime.InteropServices;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>What a record of the toy's is about.</summary>
internal enum SealRecord : byte
{
    Hello = 1,
    Finished,
    Data,
    LastWord,
}

/// <summary>
/// One direction of the poor man's TLS: records of kind, length, bytes masked by a key that no other connection has and by the record's
/// number, and a sum of all that. What is another connection's, lost, doubled or out of order is not opened.
/// </summary>
internal sealed class Seal(ulong key)
{
    private const int HeadBytes = 3;
    private const int SumBytes = 4;
    private const ulong Step = 0x9E37_79B9_7F4A_7C15;

    private ulong _number;

    /// <summary>Hellos are not secret, and are sealed by this one.</summary>
    public static Seal Open => new(0);

    /// <summary>The key of a direction.</summary>
    public static ulong KeyOf(ulong clients, ulong servers, bool isServers) => Mix(clients ^ Mix(servers + (isServers ? 1u : 2u)));

    public byte[] Write(SealRecord kind, ReadOnlySpan<byte> plain)
    {
        byte[] record = new byte[HeadBytes + plain.Length + SumBytes];
        record[0] = (byte)kind;
        BinaryPrimitives.WriteUInt16LittleEndian(record.AsSpan(1), (ushort)plain.Length);
        Span<byte> masked = record.AsSpan(HeadBytes, plain.Length);
        plain.CopyTo(masked);
        uint sum = Sum(kind, plain);
        Mask(masked);
        BinaryPrimitives.WriteUInt32LittleEndian(record.AsSpan(HeadBytes + plain.Length), sum);
        _number++;
        return record;
    }

    /// <summary>Takes a whole record from the front. None: false. One that is none of this seal's: true, and null.</summary>
    public bool TryRead(List<byte> pending, out SealRecord kind, out byte[]? plain)
    {
        ReadOnlySpan<byte> all = CollectionsMarshal.AsSpan(pending);
        plain = null;
        kind = all.Length > 0 ? (SealRecord)all[0] : default;
        if (all.Length < HeadBytes)
        {
            return false;
        }

        int bytes = BinaryPrimitives.ReadUInt16LittleEndian(all[1..]);
        if (all.Length < HeadBytes + bytes + SumBytes)
        {
            return false;
        }

        byte[] opened = all.Slice(HeadBytes, bytes).ToArray();
        Mask(opened);
        bool isOurs = BinaryPrimitives.ReadUInt32LittleEndian(all[(HeadBytes + bytes)..]) == Sum(kind, opened);
        plain = isOurs ? opened : null;
        pending.RemoveRange(0, HeadBytes + bytes + SumBytes);
        _number++;
        return true;
    }

    private void Mask(Span<byte> bytes)
    {
        ulong state = Mix(key + (_number * Step));
        for (int i = 0; i < bytes.Length; i++)
        {
            bytes[i] ^= (byte)(state >> (8 * (i & 7)));
            state = (i & 7) == 7 ? Mix(state) : state;
        }
    }

    private uint Sum(SealRecord kind, ReadOnlySpan<byte> plain)
    {
        ulong sum = Mix(key ^ _number ^ ((ulong)kind << 56));
        foreach (byte one in plain)
        {
            sum = (sum ^ one) * 0x0000_0100_0000_01B3;
        }

        return (uint)(sum ^ (sum >> 32));
    }

    private static ulong Mix(ulong value)
    {
        value = (value ^ (value >> 30)) * 0xBF58_476D_1CE4_E5B9;
        value = (value ^ (value >> 27)) * 0x94D0_49BB_1331_11EB;
        return (value ^ (value >> 31)) + Step;
    }
}
