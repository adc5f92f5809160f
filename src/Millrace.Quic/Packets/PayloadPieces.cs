using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Millrace.Quic.Packets;

/// <summary>
/// The parts of a packet's payload that are not copied into it before it is sealed: sealing reads them where they are. That memory is
/// its owner's, and is valid and unchanged from <see cref="Append"/> until the packet is sealed. One thread.
/// </summary>
internal sealed unsafe class PayloadPieces
{
    /// <summary>A copy of less costs no more than to seal it apart.</summary>
    public const int BytesMin = 256;

    /// <summary>What precedes a piece ends with a block of the cipher, which is faster.</summary>
    private const int CipherBlockBytes = 16;

    private const int CountMax = 8;

    private readonly PayloadPiece[] _pieces = new PayloadPiece[CountMax];

    public int Count { get; private set; }

    /// <summary>In the order of their offsets.</summary>
    public ReadOnlySpan<PayloadPiece> AsSpan => _pieces.AsSpan(0, Count);

    public void Clear() => Count = 0;

    /// <summary>
    /// Puts bytes, in memory that does not move, at an offset of the payload after all others: as a piece, or as a copy if they are few.
    /// </summary>
    /// <param name="offset">Where they are in the payload.</param>
    /// <param name="bytes">The bytes.</param>
    /// <param name="room">The payload's own memory for them.</param>
    public void Append(int offset, ReadOnlySpan<byte> bytes, Span<byte> room)
    {
        if (bytes.Length < BytesMin || Count == CountMax)
        {
            bytes.CopyTo(room);
            return;
        }

        int copied = -offset & (CipherBlockBytes - 1);
        bytes[..copied].CopyTo(room);
        bytes = bytes[copied..];
        _pieces[Count++] = new PayloadPiece(offset + copied, (nint)Unsafe.AsPointer(ref MemoryMarshal.GetReference(bytes)), bytes.Length);
    }

    /// <summary>Copies the pieces to where they are in the payload.</summary>
    public void CopyTo(Span<byte> payload)
    {
        foreach (PayloadPiece piece in AsSpan)
        {
            new ReadOnlySpan<byte>((void*)piece.Address, piece.Length).CopyTo(payload[piece.Offset..]);
        }
    }
}

/// <summary>A part of a payload.</summary>
internal readonly record struct PayloadPiece(int Offset, nint Address, int Length);
