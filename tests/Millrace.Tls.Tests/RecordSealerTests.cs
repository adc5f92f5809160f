using System.Buffers.Binary;
using Millrace.Engine.Buffers;
using Millrace.Interop.Sockets;
using Millrace.Tls.Quic;
using Millrace.Tls.Records;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>Records of TLS 1.3 that are made without OpenSSL's record layer, opened by another implementation.</summary>
public sealed unsafe class RecordSealerTests : IDisposable
{
    private static readonly byte[] Secret = [.. Enumerable.Range(0, 32).Select(static i => (byte)(i * 7))];

    private readonly BlockPools _pools = new();

    public void Dispose() => _pools.Dispose();

    [Theory]
    [InlineData(1, 1)]
    [InlineData(3, 500)]
    [InlineData(7, 40_000)]
    [InlineData(2, 300_000)]
    public void What_is_sealed_in_parts_opens_as_one(int parts, int bytesEach)
    {
        byte[] plain = new byte[parts * bytesEach];
        new Random(parts).NextBytes(plain);
        (byte[] records, _) = Seal(plain, parts, recordsMax: ulong.MaxValue);
        (byte[] opened, int updates) = Open(records);
        Assert.Equal(plain, opened);
        Assert.Equal(0, updates);
    }

    /// <summary>RFC 8446, section 5.5.</summary>
    [Fact]
    public void A_key_that_is_used_up_is_updated()
    {
        byte[] plain = new byte[200_000];
        new Random(1).NextBytes(plain);
        (byte[] records, int count) = Seal(plain, parts: 1, recordsMax: 5);
        (byte[] opened, int updates) = Open(records);
        Assert.Equal(plain, opened);
        Assert.Equal((count - 1) / 5, updates);
        Assert.True(updates > 3, $"{updates} updates");
    }

    private (byte[] Records, int Count) Seal(byte[] plain, int parts, ulong recordsMax)
    {
        using var sealer = new RecordSealer(QuicCipherSuite.Aes128, Secret, number: 0, recordsMax);
        using var batch = new OutputBatch(_pools);
        using var encoded = new OutputBatch(_pools);
        var sizes = default(RecordSizes);
        fixed (byte* first = plain)
        {
            for (int i = 0; i < parts; i++)
            {
                batch.WriteReference(first + ((long)i * plain.Length / parts), plain.Length / parts);
            }

            sealer.Write(batch, ref sizes, encoded);
        }

        byte[] records = [];
        foreach (IoVector part in encoded.Parts)
        {
            records = [.. records, .. new ReadOnlySpan<byte>(part.Address, (int)part.Bytes)];
        }

        int count = 0;
        for (int left = plain.Length; left > 0; count++)
        {
            left -= count < 16 ? RecordSizes.OneSegment : RecordSizes.Most;
        }

        return (records, count);
    }

    private static (byte[] Plain, int Updates) Open(byte[] records)
    {
        using var opener = new HandMadeRecords(Secret);
        var plain = new List<byte>();
        int updates = 0;
        for (int at = 0; at < records.Length;)
        {
            int end = at + 5 + BinaryPrimitives.ReadUInt16BigEndian(records.AsSpan(at + 3));
            (byte type, byte[] content) = opener.Open(records[at..end]);
            at = end;
            if (type == HandMadeRecords.Handshake)
            {
                Assert.Equal(HandMadeRecords.KeyUpdate, content);
                opener.NextKeys();
                updates++;
            }
            else
            {
                Assert.Equal(HandMadeRecords.Data, type);
                plain.AddRange(content);
            }
        }

        return ([.. plain], updates);
    }
}
