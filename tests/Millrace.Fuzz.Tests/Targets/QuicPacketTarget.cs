using Millrace.Fuzz.Tests.Kit;
using Millrace.Quic.Packets;
using Millrace.Quic.Protection;
using Millrace.Tests.Shared;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>
/// The packets of a datagram, whose first byte is the length of local ids: headers against the model, and an attempt to open each packet. What
/// the model says is a packet's extent is sealed, and then opens.
/// </summary>
internal sealed class QuicPacketTarget : FuzzTarget
{
    private const ulong Key = 5;

    private readonly GuardedMemory _datagram = new(4096);

    public override string Name => "quic-packet";

    public override int InputBytesMax => 400;

    public override int OutcomesMin => 8;

    public override IReadOnlyList<string> Words =>
    [
        "\u00C0\0\0\0\u0001\u000801234567\u000801234567\0\u0040\u0020", "\u00D0\u006B\u0033\u0043\u00CF\u000801234567\0\0\u0020",
        "\u00F0\0\0\0\u0001\0\0", "\u00E0\0\0\0\u0001\0\0\u0014", "\u0080\0\0\0\0\0\0\0\0\0\u0001", "\u00C0\u001A\u002A\u003A\u004A\0\0", "\u004001234567",
    ];

    public override byte[] Generate(Random random) => [(byte)random.Pick(0, 8, 8, 20), .. QuicGenerator.Datagram(random)];

    public override string Check(ReadOnlySpan<byte> input)
    {
        int localIdLength = input.IsEmpty ? 0 : input[0] % 21;
        byte[] rest = input.IsEmpty ? [] : input[1..].ToArray();
        string outcome = "none";
        while (ReferenceQuicPackets.Describe(rest, localIdLength, out int length) is string expected)
        {
            Agree(expected, Describe(rest, localIdLength), "header");
            CheckOpening(rest, localIdLength, length);
            outcome = string.Join(' ', expected.Split(' ')[..2]);
            rest = rest[length..];
        }

        Agree("none", Describe(rest, localIdLength), "header");
        return outcome.StartsWith("OneRtt", StringComparison.Ordinal) || outcome.StartsWith("Unsupp", StringComparison.Ordinal)
            ? outcome.Split(' ')[0]
            : outcome;
    }

    private string Describe(byte[] bytes, int localIdLength)
    {
        Span<byte> datagram = _datagram.Take(bytes.Length);
        bytes.CopyTo(datagram);
        if (!PacketHeader.TryParse(datagram, localIdLength, out PacketHeader header))
        {
            return "none";
        }

        string version = header.Version == 0 ? "" : $" {header.Version:x8}";
        string from = header.IsLong ? $" from {Convert.ToHexStringLower(header.SourceId)}" : "";
        string token = header.Kind is PacketKind.Initial or PacketKind.Retry ? $" token {Convert.ToHexStringLower(header.Token)}" : "";
        string rest = header.Kind switch
        {
            PacketKind.Retry => $" tag {Convert.ToHexStringLower(header.RetryTag)}",
            PacketKind.VersionNegotiation => $" {Convert.ToHexStringLower(header.SupportedVersions)}",
            PacketKind.UnsupportedVersion => "",
            _ => $" number at {header.NumberOffset}",
        };
        return $"{header.Kind}{version} to {Convert.ToHexStringLower(header.DestinationId)}{from}{token}{rest}";
    }

    private void CheckOpening(byte[] bytes, int localIdLength, int length)
    {
        using var protector = new PlainProtector(Key);
        Span<byte> datagram = _datagram.Take(bytes.Length);
        bytes.CopyTo(datagram);
        Require(PacketHeader.TryParse(datagram, localIdLength, out PacketHeader header) && header.PacketLength == length, "another length");
        if (!header.IsProtected)
        {
            return;
        }

        bool hasSample = PacketOpener.TryUnprotect(datagram, header, protector, 100, out PacketOpener opener);
        Require(hasSample == (length >= header.NumberOffset + 20), "a packet with a sample was not unprotected");
        Require(!hasSample || !opener.TryOpen(protector, out _), "a packet that nobody has sealed was opened");
        Require(datagram[length..].SequenceEqual(bytes.AsSpan(length)), "bytes after the packet were changed");
        if (hasSample)
        {
            CheckSealed(bytes, datagram, localIdLength, protector);
        }
    }

    /// <summary>Protects the packet's own bytes, with a number of one byte, and opens that.</summary>
    private static void CheckSealed(byte[] bytes, Span<byte> datagram, int localIdLength, PlainProtector protector)
    {
        bytes.CopyTo(datagram);
        datagram[0] &= 0xFC;
        Require(PacketHeader.TryParse(datagram, localIdLength, out PacketHeader header), "the packet is none with other low bits");
        Span<byte> packet = datagram[..header.PacketLength];
        int headerLength = header.NumberOffset + 1;
        packet[header.NumberOffset] = 101;
        byte[] plain = packet[headerLength..^PacketProtector.TagLength].ToArray();
        protector.Seal(101, packet[..headerLength], packet[headerLength..]);
        HeaderProtection.Apply(packet, header.NumberOffset, 1, header.IsLong, protector);

        Require(PacketOpener.TryUnprotect(datagram, header, protector, 100, out PacketOpener opener) && opener.Number == 101, "another number");
        Require(opener.TryOpen(protector, out ReadOnlySpan<byte> payload) && payload.SequenceEqual(plain), "another payload");
    }
}
