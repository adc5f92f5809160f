using System.Buffers;
using System.Text;
using Millrace.Interop.Zstd;

namespace Millrace.Interop.Tests.Zstd;

public class ZstdDictionaryTests
{
    [Fact]
    public void Content_that_resembles_its_dictionary_becomes_a_fraction()
    {
        byte[] before = ZstdBytes.Text(400_000, 1);
        byte[] now = [.. before[..200_000], .. "A change."u8, .. before[200_100..]];
        byte[] plain = ZstdBytes.Encode(now, level: 19);
        byte[] coded = ZstdBytes.Encode(now, level: 19, dictionary: before);

        Assert.InRange(coded.Length, 1, plain.Length / 100);
        (OperationStatus status, byte[] content) = ZstdBytes.Decode(coded, before);
        Assert.Equal(OperationStatus.Done, status);
        Assert.Equal(now, content);
    }

    [Fact]
    public void Without_its_dictionary_or_with_another_nothing_like_the_content_comes_out()
    {
        byte[] before = ZstdBytes.Text(100_000, 1);
        byte[] now = [.. before[..50_000], .. "A change."u8, .. before[50_000..]];
        byte[] coded = ZstdBytes.Encode(now, level: 19, dictionary: before);

        Assert.Equal(OperationStatus.InvalidData, ZstdBytes.Decode(coded).Status);
        Assert.NotEqual(now, ZstdBytes.Decode(coded, ZstdBytes.Text(100_000, 2)).Content);
    }

    /// <summary>Noise: what is not found in the dictionary is not compressed. 9 MiB lie beyond the window of 8 MiB without it.</summary>
    [Fact]
    public void The_whole_of_a_dictionary_larger_than_the_usual_window_is_used()
    {
        byte[] before = ZstdBytes.Noise(9 << 20, 1);
        byte[] now = [.. before[..1000], .. "A change."u8, .. before[1000..]];
        byte[] coded = ZstdBytes.Encode(now, level: 3, dictionary: before);

        Assert.InRange(coded.Length, 1, 100_000);
        (OperationStatus status, byte[] content) = ZstdBytes.Decode(coded, before);
        Assert.Equal(OperationStatus.Done, status);
        Assert.True(now.AsSpan().SequenceEqual(content));
    }

    /// <summary>RFC 9842, section 5: 8 MiB or 1.25 times the dictionary, at most 128 MiB.</summary>
    [Theory]
    [InlineData(0, 8 << 20)]
    [InlineData(1000, 8 << 20)]
    [InlineData(8 << 20, 10 << 20)]
    [InlineData(1 << 30, 128 << 20)]
    public void The_limit_of_a_window_follows_the_dictionary(long dictionaryBytes, long limit) =>
        Assert.Equal(limit, ZstdWindow.LimitFor(dictionaryBytes));

    [Theory]
    [InlineData(0, 0, 10)]
    [InlineData(1024, 0, 10)]
    [InlineData(1025, 0, 11)]
    [InlineData(8 << 20, 0, 23)]
    [InlineData((8 << 20) + 1, 0, 23)]
    [InlineData(9 << 20, 9 << 20, 24)]
    [InlineData(12 << 20, 9 << 20, 23)]
    [InlineData(1 << 30, 1 << 30, 27)]
    public void An_encoders_window_reaches_over_the_content_if_clients_can_decode_it(long contentBytes, long dictionaryBytes, int log) =>
        Assert.Equal(log, ZstdWindow.LogFor(contentBytes, dictionaryBytes));

    [Fact]
    public void A_trained_dictionary_makes_similar_pages_smaller()
    {
        byte[][] pages = [.. Enumerable.Range(0, 200).Select(Page)];
        byte[] dictionary = ZstdTraining.Train(
            ZstdBytes.Library, pages.SelectMany(page => page).ToArray(), pages.Select(page => page.Length).ToArray(), 8 * 1024);
        Assert.InRange(dictionary.Length, 500, 8 * 1024);

        byte[] another = Page(1000);
        byte[] plain = ZstdBytes.Encode(another, level: 19);
        byte[] coded = ZstdBytes.Encode(another, level: 19, dictionary: dictionary);
        Assert.InRange(coded.Length, 1, plain.Length / 2);
        Assert.Equal(another, ZstdBytes.Decode(coded, dictionary).Content);
    }

    [Fact]
    public void Too_few_samples_train_nothing()
    {
        Assert.Empty(ZstdTraining.Train(ZstdBytes.Library, [], [], 8 * 1024));
        Assert.Empty(ZstdTraining.Train(ZstdBytes.Library, "one"u8, [3], 8 * 1024));
        Assert.Empty(ZstdTraining.Train(ZstdBytes.Library, "one"u8, [3], 0));
    }

    [Fact]
    public void Sizes_that_lead_beyond_the_samples_are_refused()
    {
        Assert.Throws<ArgumentOutOfRangeException>(() => ZstdTraining.Train(ZstdBytes.Library, "one"u8, [4], 8 * 1024));
        Assert.Throws<ArgumentOutOfRangeException>(() => ZstdTraining.Train(ZstdBytes.Library, "one"u8, [4, -1], 8 * 1024));
    }

    private static byte[] Page(int seed)
    {
        var random = new Random(seed);
        string paragraphs = string.Concat(Enumerable.Range(0, 5).Select(_ => $"<p>Value {random.Next()} of {random.Next()}.</p>\n"));
        return Encoding.ASCII.GetBytes($"""
            <!doctype html><html lang="en"><head><meta charset="utf-8"><title>Page {seed}</title>
            <link rel="stylesheet" href="/styles/site.css"><script src="/scripts/site.js" defer></script></head>
            <body><header><nav><a href="/">Home</a> <a href="/guide/">Guide</a> <a href="/reference/">Reference</a></nav></header>
            <main>{paragraphs}</main><footer>Published under the MIT licence by the authors of this site.</footer></body></html>
            """);
    }
}
