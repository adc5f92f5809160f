using System.Security.Cryptography;
using Millrace.Interop.Zstd;
using Millrace.StaticFiles.Dictionaries;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Compression;
using Millrace.Tests.Shared;

namespace Millrace.StaticFiles.Tests.Dictionaries;

/// <summary>Each coding with a dictionary, with the libraries.</summary>
public class DictionaryCoderTests
{
    private static readonly byte[] Old = TestText.Of(20_000);
    private static readonly byte[] New = [.. Old.AsSpan(0, 9_000), .. "changed"u8, .. Old.AsSpan(9_000)];

    /// <summary>The magic numbers of RFC 9842, sections 4 and 5.</summary>
    [Theory]
    [InlineData("dcb", "ff444342")]
    [InlineData("dcz", "5e2a4d1820000000")]
    public void A_coded_body_begins_with_the_magic_number_and_the_hash_and_decodes_to_the_body(string name, string magic)
    {
        DictionaryCoder coder = CoderOf(name);
        byte[] coded = Code(coder, New)!;

        Assert.StartsWith(magic + Convert.ToHexStringLower(SHA256.HashData(Old)), Convert.ToHexStringLower(coded), StringComparison.Ordinal);
        Assert.InRange(coded.Length, coder.HeaderBytes + 1, coder.HeaderBytes + 60);
        Assert.True(coder.IsCodingOf(coded, Old, New, CancellationToken.None));
        Assert.Equal(coded, Code(coder, New));
    }

    [Theory]
    [InlineData("dcb")]
    [InlineData("dcz")]
    public void Nothing_else_passes_for_a_coding_of_the_body(string name)
    {
        DictionaryCoder coder = CoderOf(name);
        byte[] coded = Code(coder, New)!;

        Assert.False(coder.IsCodingOf(coded, Old, Old, CancellationToken.None));
        Assert.False(coder.IsCodingOf(coded, Old, New.AsSpan(0, New.Length - 1), CancellationToken.None));
        Assert.False(coder.IsCodingOf(coded, Old, [.. New, 0], CancellationToken.None));
        Assert.False(coder.IsCodingOf(coded, New, New, CancellationToken.None));
        Assert.False(coder.IsCodingOf([.. coded, 0], Old, New, CancellationToken.None));
        for (int bytes = 0; bytes < coded.Length; bytes++)
        {
            Assert.False(coder.IsCodingOf(coded.AsSpan(0, bytes), Old, New, CancellationToken.None));
        }

        for (int at = 0; at < coder.HeaderBytes; at++)
        {
            byte[] other = [.. coded];
            other[at] ^= 1;
            Assert.False(coder.IsCodingOf(other, Old, New, CancellationToken.None));
        }

        // The content of one dictionary below the hash of another.
        byte[] another = [.. Old.AsSpan(0, 10_000), .. TestText.Noise(10_000)];
        byte[] mixed = [.. coded];
        DictionaryHash.Of(another).Write(mixed.AsSpan(coder.HeaderBytes - DictionaryHash.Bytes));
        Assert.False(coder.IsCodingOf(mixed, another, New, CancellationToken.None));
    }

    [Theory]
    [InlineData("dcb")]
    [InlineData("dcz")]
    public void What_gains_nothing_or_is_cancelled_is_not_coded(string name)
    {
        DictionaryCoder coder = CoderOf(name);
        int bytes = Code(coder, New)!.Length;

        Assert.Equal(bytes, Code(coder, New, bytes + 1)!.Length);
        Assert.Null(Code(coder, New, bytes));
        Assert.Null(Code(coder, []));
        Assert.Null(Code(coder, TestText.Noise(5_000)));
        Assert.Null(coder.TryCode(New, Old, DictionaryHash.Of(Old), New.Length, new CancellationToken(canceled: true)));
    }

    /// <summary>Above 1 MiB the encoders work otherwise.</summary>
    [Theory]
    [InlineData("dcb")]
    [InlineData("dcz")]
    public void A_large_body_is_coded_with_a_large_dictionary(string name)
    {
        byte[] old = TestText.Of(5 << 20);
        byte[] changed = [.. TestText.Noise(100), .. old.AsSpan(0, 2 << 20), .. "changed"u8, .. old.AsSpan(2 << 20)];
        byte[]? coded = CoderOf(name).TryCode(changed, old, DictionaryHash.Of(old), changed.Length, CancellationToken.None);

        Assert.InRange(coded!.Length, 100, 2_000);
    }

    private static byte[]? Code(DictionaryCoder coder, byte[] body, int? otherBytes = null) =>
        coder.TryCode(body, Old, DictionaryHash.Of(Old), otherBytes ?? body.Length, CancellationToken.None);

    private static DictionaryCoder CoderOf(string name)
    {
        if (name == "dcb")
        {
            return new BrotliDictionaryCoder(NewerBrotli.Require());
        }

        Assert.True(ZstdLibrary.TryLoad(out ZstdLibrary? library));
        return new ZstdDictionaryCoder(library);
    }
}
