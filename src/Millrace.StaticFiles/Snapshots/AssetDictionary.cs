using System.Runtime.InteropServices;
using System.Security.Cryptography;
using Millrace.Http;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// What an asset is to clients with dictionaries (RFC 9842): a dictionary for later files of its family, and a file that was coded with
/// earlier ones. Immutable but for <see cref="Tried"/>; readers are any thread.
/// </summary>
internal sealed class AssetDictionary
{
    private readonly (DictionaryHash Hash, Asset Variant)[] _variants;
    private readonly byte[] _useAs;

    /// <param name="useAs">The value of Use-As-Dictionary; empty if it is not a dictionary for others.</param>
    /// <param name="isPage">Whether it is a page, which the shared dictionary of pages is for.</param>
    public AssetDictionary(byte[] useAs, bool isPage)
        : this(useAs, isPage, [], [])
    {
    }

    private AssetDictionary(
        byte[] useAs,
        bool isPage,
        HashSet<(DictionaryHash Hash, ContentCoding Coding)> tried,
        (DictionaryHash Hash, Asset Variant)[] variants)
    {
        (_useAs, IsPage, Tried, _variants) = (useAs, isPage, tried, variants);
    }

    public ReadOnlySpan<byte> UseAs => _useAs;

    public bool IsPage { get; }

    /// <summary>The dictionaries that it was coded with, and how, also if nothing was gained. Used by the thread that codes.</summary>
    public HashSet<(DictionaryHash Hash, ContentCoding Coding)> Tried { get; }

    public ReadOnlySpan<(DictionaryHash Hash, Asset Variant)> Variants => _variants;

    /// <summary>The variant for a dictionary in a coding; null if there is none.</summary>
    public Asset? VariantFor(in DictionaryHash hash, ContentCoding coding)
    {
        foreach ((DictionaryHash known, Asset variant) in _variants)
        {
            if (known == hash && variant.Coding == coding)
            {
                return variant;
            }
        }

        return null;
    }

    /// <summary>The variants for a dictionary.</summary>
    public DictionaryVariants VariantsFor(in DictionaryHash hash) =>
        new(VariantFor(hash, ContentCoding.DictionaryBrotli), VariantFor(hash, ContentCoding.DictionaryZstd));

    /// <summary>The same without some variants, which the caller frees.</summary>
    public AssetDictionary Without(Func<DictionaryHash, bool> isLost, out Asset[] dropped)
    {
        dropped = [.. from one in _variants where isLost(one.Hash) select one.Variant];
        return new(_useAs, IsPage, Tried, [.. _variants.Where(one => !isLost(one.Hash))]);
    }

    /// <summary>The same with one more variant.</summary>
    public AssetDictionary With(in DictionaryHash hash, Asset variant) => new(_useAs, IsPage, Tried, [.. _variants, (hash, variant)]);
}

/// <summary>The variants of a file for one dictionary, as far as there are any.</summary>
internal readonly record struct DictionaryVariants(Asset? Brotli, Asset? Zstd);

/// <summary>The SHA-256 of a dictionary, by which clients name it.</summary>
internal readonly record struct DictionaryHash(ulong First, ulong Second, ulong Third, ulong Fourth)
{
    public const int Bytes = 32;

    public static DictionaryHash Of(ReadOnlySpan<byte> dictionary)
    {
        Span<byte> hash = stackalloc byte[Bytes];
        _ = SHA256.HashData(dictionary, hash);
        return Read(hash);
    }

    public static DictionaryHash Read(ReadOnlySpan<byte> hash) => MemoryMarshal.Read<DictionaryHash>(hash);

    public void Write(Span<byte> destination) => MemoryMarshal.Write(destination, in this);

    public string ToHex()
    {
        Span<byte> hash = stackalloc byte[Bytes];
        Write(hash);
        return Convert.ToHexStringLower(hash);
    }
}
