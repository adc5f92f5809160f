using Millrace.Quic.Protection;
using Millrace.Tls.Quic;

namespace Millrace.Tls.Tests.Quic;

/// <summary>The examples of RFC 9001 and of RFC 9369, in their appendices A.</summary>
public sealed class PacketVectorTests : IDisposable
{
    private const uint Version1 = 1;
    private const uint Version2 = 0x6b3343cf;

    private const string DestinationId = "8394c8f03e515708";

    /// <summary>The frame of the client's Initial packet, which PADDING follows up to 1,162 bytes.</summary>
    private const string ClientFrame =
        "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e86804fe3a47f06a2b69484c00000413011302010000c000000010000e00000b6578"
        + "616d706c652e636f6dff01000100000a00080006001d0017001800100007000504616c706e000500050100000000003300260024001d00209370b2c9caa47fba"
        + "baf4559fedba753de171fa71f50f1ce15d43e994ec74d748002b0003020304000d0010000e0403050306030203080408050806002d00020101001c0002400100"
        + "3900320408ffffffffffffffff05048000ffff07048000ffff0801100104800075300901100f088394c8f03e51570806048000ffff";

    private const string ServerFrames =
        "02000000000600405a020000560303eefce7f7b37ba1d1632e96677825ddf73988cfc79825df566dc5430b9a045a1200130100002e00330024001d00209d3c94"
        + "0d89690b84d08a60993c144eca684d1081287c834d5311bcf32bb9da1a002b00020304";

    private readonly QuicTokenKeys _keys = QuicTokenKeys.Create();
    private readonly OpenSslQuicCryptography _cryptography;

    public PacketVectorTests()
    {
        _cryptography = new OpenSslQuicCryptography(_keys);
    }

    public void Dispose()
    {
        _cryptography.Dispose();
        _keys.Dispose();
    }

    /// <summary>The beginning is protected byte for byte, and the tag at the end holds all between.</summary>
    [Theory]
    [Trait("Rfc", "9001-A.2")]
    [Trait("Rfc", "9369-A.2")]
    [InlineData(Version1, "c300000001088394c8f03e5157080000449e00000002",
        "c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11", "e221af44860018ab0856972e194cd934")]
    [InlineData(Version2, "d36b3343cf088394c8f03e5157080000449e00000002",
        "d76b3343cf088394c8f03e5157080000449ea0c95e82ffe67b6abcdb4298b485", "a18b2faa745b6fe189cf772a9f84cbfc")]
    public void A_clients_initial_packet_is_protected_as_in_the_rfc(uint version, string header, string beginning, string tag)
    {
        byte[] payload = [.. Convert.FromHexString(ClientFrame), .. new byte[917]];
        Assert.Equal(1162, payload.Length);
        using PacketProtector protector = Initial(version, isServers: false);
        byte[] packet = Protect(protector, Convert.FromHexString(header), 2, numberLength: 4, payload);

        Assert.Equal(1200, packet.Length);
        Assert.StartsWith(beginning, Hex(packet), StringComparison.Ordinal);
        Assert.EndsWith(tag, Hex(packet), StringComparison.Ordinal);
        using PacketProtector receiver = Initial(version, isServers: false);
        Assert.Equal(payload, Open(receiver, packet, headerLength: 22, numberLength: 4, number: 2));
    }

    [Theory]
    [Trait("Rfc", "9001-A.3")]
    [Trait("Rfc", "9369-A.3")]
    [InlineData(Version1, "c1000000010008f067a5502a4262b50040750001",
        "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a5816b6394100f37a1c69797554780bb38cc5a99f5ede4cf73c3ec2493a1839b3"
        + "dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc4"
        + "2158407dd074ee")]
    [InlineData(Version2, "d16b3343cf0008f067a5502a4262b50040750001",
        "dc6b3343cf0008f067a5502a4262b5004075d92faaf16f05d8a4398c47089698baeea26b91eb761d9b89237bbf87263017915358230035f7fd3945d88965cf17"
        + "f9af6e16886c61bfc703106fbaf3cb4cfa52382dd16a393e42757507698075b2c984c707f0a0812d8cd5a6881eaf21ceda98f4bd23f6fe1a3e2c43edd9ce7ca8"
        + "4bed8521e2e140")]
    public void A_servers_initial_packet_is_protected_as_in_the_rfc(uint version, string header, string expected)
    {
        byte[] payload = Convert.FromHexString(ServerFrames);
        using PacketProtector protector = Initial(version, isServers: true);
        byte[] packet = Protect(protector, Convert.FromHexString(header), 1, numberLength: 2, payload);

        Assert.Equal(expected, Hex(packet));
        using PacketProtector receiver = Initial(version, isServers: true);
        Assert.Equal(payload, Open(receiver, packet, headerLength: 20, numberLength: 2, number: 1));
    }

    [Theory]
    [Trait("Rfc", "9001-A.4")]
    [Trait("Rfc", "9369-A.4")]
    [InlineData(Version1, "ff000000010008f067a5502a4262b5746f6b656e", "04a265ba2eff4d829058fb3f0f2496ba")]
    [InlineData(Version2, "cf6b3343cf0008f067a5502a4262b5746f6b656e", "c8646ce8bfe33952d955543665dcc7b6")]
    public void A_retry_packet_has_the_tag_of_the_rfc(uint version, string packet, string expected)
    {
        byte[] id = Convert.FromHexString(DestinationId);
        byte[] tag = new byte[16];
        for (int i = 0; i < 2; i++)
        {
            _cryptography.GetRetryTag(version, [(byte)id.Length, .. id, .. Convert.FromHexString(packet)], tag);
            Assert.Equal(expected, Hex(tag));
        }
    }

    [Theory]
    [Trait("Rfc", "9001-A.5")]
    [Trait("Rfc", "9369-A.5")]
    [InlineData(Version1, "4cfe4189655e5cd55c41f69080575d7999c25a5bfb")]
    [InlineData(Version2, "5558b1c60ae7b6b932bc27d786f4bc2bb20f2162ba")]
    public void A_packet_with_a_short_header_is_protected_by_chacha20_as_in_the_rfc(uint version, string expected)
    {
        byte[] secret = Convert.FromHexString("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");
        using var protector = new OpenSslPacketProtector(QuicCipherSuite.ChaCha20, VersionKeys.Of(version), secret);
        byte[] packet = Protect(protector, Convert.FromHexString("4200bff4"), 654_360_564, numberLength: 3, [1]);

        Assert.Equal(expected, Hex(packet));
        using var receiver = new OpenSslPacketProtector(QuicCipherSuite.ChaCha20, VersionKeys.Of(version), secret);
        Assert.Equal<byte[]>([1], Open(receiver, packet, headerLength: 4, numberLength: 3, number: 654_360_564));
    }

    /// <summary>Section A.5 has the secret after an update too.</summary>
    [Theory]
    [Trait("Rfc", "9001-6.1")]
    [Trait("Rfc", "9369-3.3.2")]
    [InlineData(Version1, "1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9")]
    [InlineData(Version2, "c69374c49e3d2a9466fa689e49d476db5d0dfbc87d32ceeaa6343fd0ae4c7d88")]
    public void An_update_of_keys_has_the_secret_of_the_rfc_and_the_same_key_for_headers(uint version, string next)
    {
        byte[] secret = Convert.FromHexString("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");
        using var first = new OpenSslPacketProtector(QuicCipherSuite.ChaCha20, VersionKeys.Of(version), secret);
        using PacketProtector updated = first.Update();
        using var expected = new OpenSslPacketProtector(QuicCipherSuite.ChaCha20, VersionKeys.Of(version), Convert.FromHexString(next));

        Assert.Equal(Seal(expected), Seal(updated));
        Assert.NotEqual(Seal(first), Seal(updated));
        Assert.Equal(Mask(first), Mask(updated));
        Assert.NotEqual(Mask(expected), Mask(updated));
    }

    private static string Hex(byte[] bytes) => Convert.ToHexStringLower(bytes);

    private static byte[] Seal(PacketProtector protector)
    {
        byte[] text = new byte[40];
        protector.Seal(7, [1, 2, 3], text);
        return text;
    }

    private static byte[] Mask(PacketProtector protector)
    {
        byte[] mask = new byte[PacketProtector.MaskLength];
        protector.GetHeaderMask(new byte[PacketProtector.SampleLength], mask);
        return mask;
    }

    private static byte[] Protect(PacketProtector protector, byte[] header, long number, int numberLength, byte[] payload)
    {
        byte[] packet = [.. header, .. payload, .. new byte[PacketProtector.TagLength]];
        protector.Seal(number, header, packet.AsSpan(header.Length));
        MaskHeader(protector, packet, header.Length, numberLength);
        return packet;
    }

    private static byte[] Open(PacketProtector protector, byte[] packet, int headerLength, int numberLength, long number)
    {
        MaskHeader(protector, packet, headerLength, numberLength);
        Assert.True(protector.TryOpen(number, packet.AsSpan(0, headerLength), packet.AsSpan(headerLength)));
        return packet[headerLength..^PacketProtector.TagLength];
    }

    private static void MaskHeader(PacketProtector protector, byte[] packet, int headerLength, int numberLength)
    {
        byte[] mask = new byte[PacketProtector.MaskLength];
        int numberAt = headerLength - numberLength;
        protector.GetHeaderMask(packet.AsSpan(numberAt + 4, PacketProtector.SampleLength), mask);
        packet[0] ^= (byte)(mask[0] & ((packet[0] & 0x80) != 0 ? 0x0F : 0x1F));
        for (int i = 0; i < numberLength; i++)
        {
            packet[numberAt + i] ^= mask[i + 1];
        }
    }

    private PacketProtector Initial(uint version, bool isServers) =>
        _cryptography.CreateInitialProtector(version, Convert.FromHexString(DestinationId), isServers);
}
