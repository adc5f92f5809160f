using System.Runtime.InteropServices;
using Millrace.Interop;
using Millrace.Interop.Seccomp;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Datagrams;

/// <summary>
/// The program by which the kernel chooses the socket, and so the reactor, of a QUIC datagram: the first 8 bytes of its destination id are
/// mixed with a secret key, and the result modulo the number of reactors is the reactor. Our ids are made so that this is theirs; a
/// client's first id is random, and all Initial packets of a connection have the same. Classic BPF on a group of sockets needs no right.
/// Pure, except <see cref="TryAttach"/> and <see cref="CreateKey"/>.
/// </summary>
/// <remarks>
/// The mixing is a Feistel network over the id's two words, in network order: in each round, the word before the last is XORed with
/// f(last word), where f(x) = t ^ (t >> 16) and t = (x ^ key) * key'. <c>ConnectionIdCipher</c> of Millrace.Quic is the same and its
/// inverse.
/// </remarks>
internal static class DatagramSteering
{
    /// <summary>Two for each of 6 rounds; the second of them is made odd.</summary>
    public const int KeyWords = 2 * Rounds;

    private const int Rounds = 6;
    private const uint HalfWord = 16;

    /// <summary>In packets with a long header (RFC 8999, section 5.1): after the version and the id's length.</summary>
    private const uint LongIdOffset = 6;

    /// <summary>In packets with a short one (section 5.2).</summary>
    private const uint ShortIdOffset = 1;

    private const uint LongHeader = 0x80;

    /// <summary>A random key.</summary>
    public static uint[] CreateKey()
    {
        uint[] key = new uint[KeyWords];
        KernelRandom.Fill(MemoryMarshal.AsBytes(key.AsSpan()));
        return key;
    }

    /// <summary>Applies it to the group of a socket: all that are bound to its address. False if the kernel refuses.</summary>
    public static bool TryAttach(int socket, int reactors, ReadOnlySpan<uint> key) =>
        SocketCalls.AttachSelector(socket, Build(reactors, key)) >= 0;

    /// <summary>A load beyond the datagram's end ends the program with 0: the first reactor drops what is no packet.</summary>
    public static FilterInstruction[] Build(int reactors, ReadOnlySpan<uint> key)
    {
        ArgumentOutOfRangeException.ThrowIfNotEqual(key.Length, KeyWords);
        List<FilterInstruction> program =
        [
            new(FilterCode.LoadByte, 0, 0, 0),
            new(FilterCode.IfHas, 0, 4, LongHeader),
            new(FilterCode.Load, 0, 0, LongIdOffset),
            new(FilterCode.Store, 0, 0, 0),
            new(FilterCode.Load, 0, 0, LongIdOffset + sizeof(uint)),
            new(FilterCode.Skip, 0, 0, 3),
            new(FilterCode.Load, 0, 0, ShortIdOffset),
            new(FilterCode.Store, 0, 0, 0),
            new(FilterCode.Load, 0, 0, ShortIdOffset + sizeof(uint)),
        ];
        for (uint i = 0; i < Rounds; i++)
        {
            program.AddRange(
            [
                new(FilterCode.Store, 0, 0, (i + 1) % 2),
                new(FilterCode.Xor, 0, 0, key[(int)(2 * i)]),
                new(FilterCode.Multiply, 0, 0, key[(int)(2 * i) + 1] | 1),
                new(FilterCode.CopyToIndex, 0, 0, 0),
                new(FilterCode.ShiftRight, 0, 0, HalfWord),
                new(FilterCode.XorIndex, 0, 0, 0),
                new(FilterCode.LoadIndex, 0, 0, i % 2),
                new(FilterCode.XorIndex, 0, 0, 0),
            ]);
        }

        program.Add(new(FilterCode.Modulo, 0, 0, (uint)reactors));
        program.Add(new(FilterCode.ReturnResult, 0, 0, 0));
        return [.. program];
    }
}
