using Millrace.Http;
using Millrace.StaticFiles.Compression;

namespace Millrace.StaticFiles.Tests.Compression;

public class BodyCoderTests
{
    public static TheoryData<int> Sizes =>
        [256, 1000, 1008, 1009, 65_535, 65_536, 65_537, 262_144, 1_048_577, BodyCoder.BytesMax];

    [Theory]
    [MemberData(nameof(Sizes))]
    [Trait("Duration", "Full")]
    public void A_coded_body_is_smaller_and_decodes_to_the_body(int size)
    {
        byte[] body = TestText.Of(size);
        foreach (ContentCoding coding in BodyCoder.Codings.ToArray())
        {
            Assert.True(BodyCoder.TryCode(body, coding, CancellationToken.None, out byte[] coded), $"{coding}");

            Assert.InRange(coded.Length, 1, BodyCoder.CodedBytesMax(size));
            Assert.Equal(body, TestText.Decode(coding, coded));
        }
    }

    [Theory]
    [InlineData(1, 0)]
    [InlineData(256, 230)]
    [InlineData(2559, 2303)]
    [InlineData(100_000, 90_000)]
    public void A_tenth_must_be_saved(int size, int codedBytesMax) =>
        Assert.Equal(codedBytesMax, BodyCoder.CodedBytesMax(size));

    [Theory]
    [InlineData(256)]
    [InlineData(65_536)]
    [InlineData(3_000_000)]
    [Trait("Duration", "Full")]
    public void What_does_not_get_smaller_is_not_kept(int size) => AssertNotKept(TestText.Noise(size));

    [Fact]
    public void What_gets_a_little_smaller_is_not_kept_either()
    {
        // A zero of 200 bytes in noise saves nearly that.
        byte[] body = [.. TestText.Noise(4000), .. new byte[200], .. TestText.Noise(4000, seed: 2)];

        AssertNotKept(body);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public void A_body_that_starts_well_and_goes_on_as_noise_is_given_up()
    {
        byte[] body = [.. new byte[200], .. TestText.Noise(2_000_000)];

        AssertNotKept(body);
    }

    [Fact]
    public void The_same_body_gives_the_same_bytes_on_any_day()
    {
        byte[] body = TestText.Of(100_000);
        foreach (ContentCoding coding in BodyCoder.Codings.ToArray())
        {
            Assert.True(BodyCoder.TryCode(body, coding, CancellationToken.None, out byte[] first));
            Assert.True(BodyCoder.TryCode([.. body], coding, CancellationToken.None, out byte[] second));

            Assert.Equal(first, second);
            // RFC 1952, section 2.3: no flags, no time.
            Assert.True(coding != ContentCoding.Gzip || first.AsSpan(0, 8).SequenceEqual(new byte[] { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0 }));
        }
    }

    [Fact]
    public void The_window_of_brotli_is_no_larger_than_the_body_needs()
    {
        Assert.True(BodyCoder.TryCode(TestText.Of(65_000), ContentCoding.Brotli, CancellationToken.None, out byte[] small));
        Assert.True(BodyCoder.TryCode(TestText.Of(4_200_000), ContentCoding.Brotli, CancellationToken.None, out byte[] large));

        // RFC 7932, section 9.1: the first bits are WBITS; "0" is 16, and 0b1011 is 22 (bits 1, 101 from the lowest).
        Assert.Equal(0, small[0] & 1);
        Assert.Equal(0b1011, large[0] & 0b1111);
    }

    /// <summary>RFC 9659: clients need not decode a larger one.</summary>
    [Fact]
    [Trait("Duration", "Full")]
    public void The_window_of_zstd_is_one_that_all_clients_decode()
    {
        Assert.True(BodyCoder.TryCode(TestText.Of(BodyCoder.BytesMax), ContentCoding.Zstd, CancellationToken.None, out byte[] coded));

        // RFC 8878, section 3.1.1: Single_Segment_Flag, and a content size of four bytes, which is the window's size too.
        Assert.Equal(0b1010_0000, coded[4]);
        Assert.Equal(BodyCoder.BytesMax, BitConverter.ToInt32(coded, 5));
        Assert.InRange(BodyCoder.BytesMax, 1, 8 << 20);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_coding_that_is_stopped_ends_long_before_it_is_done()
    {
        byte[] body = TestText.Of(1024 * 1024);
        using var stop = new CancellationTokenSource();
        TimeSpan whole = await ProcessorTimeOfAsync(() => BodyCoder.TryCode(body, ContentCoding.Brotli, CancellationToken.None, out _));

        // Before it begins: a timer may be late by as long as the whole takes.
        await stop.CancelAsync();
        TimeSpan stopped = await ProcessorTimeOfAsync(() => Assert.False(BodyCoder.TryCode(body, ContentCoding.Brotli, stop.Token, out _)));

        Assert.True(stopped < whole / 2, $"{stopped} of {whole}");
        Assert.All(BodyCoder.Codings.ToArray(), coding => Assert.False(BodyCoder.TryCode(body, coding, stop.Token, out _)));
    }

    [Fact]
    public void A_coding_that_is_stopped_anywhere_is_none_or_whole()
    {
        byte[] body = TestText.Of(2 * 1024 * 1024);
        int stoppedCount = 0;
        for (int i = 0; i < 10; i++)
        {
            using var stop = new CancellationTokenSource(TimeSpan.FromMilliseconds(3 * i));
            if (BodyCoder.TryCode(body, ContentCoding.Gzip, stop.Token, out byte[] coded))
            {
                Assert.Equal(body, TestText.Decode(ContentCoding.Gzip, coded));
            }
            else
            {
                stoppedCount++;
            }
        }

        Assert.NotEqual(0, stoppedCount);
    }

    private static void AssertNotKept(byte[] body) => Assert.All(BodyCoder.Codings.ToArray(), coding =>
        Assert.False(BodyCoder.TryCode(body, coding, CancellationToken.None, out _)));

    /// <summary>What a thread used, whatever else the machine is busy with.</summary>
    private static Task<TimeSpan> ProcessorTimeOfAsync(Action action) => Task.Run(() =>
    {
        long before = UsedNs();
        action();
        return TimeSpan.FromMicroseconds((UsedNs() - before) / 1000.0);
    });

    private static long UsedNs() => long.Parse(File.ReadAllText("/proc/thread-self/schedstat").Split(' ')[0], null);
}
