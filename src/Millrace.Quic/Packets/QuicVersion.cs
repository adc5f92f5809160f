namespace Millrace.Quic.Packets;

/// <summary>The versions of QUIC, and how their packet types are encoded (RFC 9000, section 17.2; RFC 9369, section 3.2).</summary>
internal static class QuicVersion
{
    public const uint Version1 = 0x0000_0001;
    public const uint Version2 = 0x6B33_43CF;

    /// <summary>A reserved version (RFC 9000, section 15): a list of versions with it shows whether peers ignore unknown ones.</summary>
    public const uint Grease = 0x1A2A_3A4A;

    /// <summary>What this implementation speaks, the preferred one first.</summary>
    public static ReadOnlySpan<uint> Supported => [Version1, Version2];

    public static bool IsSupported(uint version) => version is Version1 or Version2;

    /// <summary>Reserved versions have the pattern 0x?a?a?a?a.</summary>
    public static bool IsReserved(uint version) => (version & 0x0F0F_0F0F) == 0x0A0A_0A0A;

    /// <summary>The kind of a long header by the two bits of its type. Version 2 rotates the types of version 1 by one.</summary>
    public static PacketKind KindOf(uint version, int typeBits)
        => (PacketKind)(version == Version2 ? (typeBits + 3) & 3 : typeBits);

    /// <summary>The two bits of the type of a long header: the inverse of <see cref="KindOf"/>.</summary>
    public static int TypeBits(uint version, PacketKind kind)
        => version == Version2 ? ((int)kind + 1) & 3 : (int)kind;
}
