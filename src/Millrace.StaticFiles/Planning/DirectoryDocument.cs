using System.Collections.Concurrent;
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using System.Text;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Listings;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// The listings of a snapshot's directories: made when somebody asks and kept for the next one, as 50,000 names take a tenth of a second.
/// Any thread may ask; two that race make two equal documents and one is dropped.
/// </summary>
internal static class DirectoryDocument
{
    /// <summary>What one snapshot keeps.</summary>
    private const long KeptBytesMax = 16 * 1024 * 1024;

    /// <summary>And beside them, of pages under the addresses of rules, of which there may be any number.</summary>
    private const long KeptElsewhereBytesMax = 4 * 1024 * 1024;

    private static readonly byte[] HtmlType = "text/html; charset=utf-8"u8.ToArray();
    private static readonly byte[] JsonType = "application/json"u8.ToArray();
    private static readonly ConditionalWeakTable<CatalogSnapshot, Shelves> Kept = [];

    /// <param name="snapshot">A snapshot the caller has leased.</param>
    /// <param name="directory">A directory of it.</param>
    /// <param name="urlPath">The decoded path in the URL, with '/' at both ends; another than its own where a rule led there.</param>
    /// <param name="query">How to sort it, see <see cref="ListingOrder"/>.</param>
    /// <param name="asJson">Whether a program asks.</param>
    public static PlanDocument Of(
        CatalogSnapshot snapshot, SiteDirectory directory, ReadOnlySpan<byte> urlPath, ReadOnlySpan<byte> query, bool asJson)
    {
        ListingOrder order = ListingOrder.Parse(query);

        // A page says where it is: one under another address is not the directory's own.
        bool isOwn = asJson || urlPath[..^1].SequenceEqual(directory.Path);
        var key = new Key(directory, order, asJson, isOwn ? "" : Encoding.Latin1.GetString(urlPath));
        Shelves shelves = Kept.GetOrCreateValue(snapshot);
        Shelf shelf = isOwn ? shelves.Own : shelves.Elsewhere;
        return shelf.Find(key) ?? shelf.Keep(key, Make(snapshot, directory, urlPath, order, asJson));
    }

    private static PlanDocument Make(
        CatalogSnapshot snapshot, SiteDirectory directory, ReadOnlySpan<byte> urlPath, ListingOrder order, bool asJson)
    {
        ListingEntry[] entries = ListingEntries.Of(snapshot, directory);
        byte[] bytes = asJson ? ListingJson.Render(entries, order) : ListingPage.Render(urlPath, entries, order);
        byte[] tag = Encoding.ASCII.GetBytes($"\"{Convert.ToHexStringLower(SHA256.HashData(bytes).AsSpan(0, 16))}\"");
        return new PlanDocument(bytes, asJson ? JsonType : HtmlType, tag);
    }

    private sealed class Shelves
    {
        public Shelf Own { get; } = new(KeptBytesMax);

        public Shelf Elsewhere { get; } = new(KeptElsewhereBytesMax);
    }

    /// <summary>Listings up to a sum of bytes: old ones make room for new. One that is larger by itself is made each time.</summary>
    private sealed class Shelf(long bytesMax)
    {
        private readonly ConcurrentDictionary<Key, PlanDocument> _documents = new();
        private readonly Lock _keeping = new();
        private long _bytes;

        public PlanDocument? Find(Key key) => _documents.GetValueOrDefault(key);

        /// <summary>Gives the one that is kept by now, if another was quicker.</summary>
        public PlanDocument Keep(Key key, PlanDocument document)
        {
            long bytes = document.Bytes.Length;
            lock (_keeping)
            {
                if (bytes > bytesMax)
                {
                    return document;
                }

                if (_documents.TryGetValue(key, out PlanDocument? kept))
                {
                    return kept;
                }

                if (_bytes + bytes > bytesMax)
                {
                    _documents.Clear();
                    _bytes = 0;
                }

                _documents[key] = document;
                _bytes += bytes;
                return document;
            }
        }
    }

    /// <summary>Elsewhere: the address of a page that is not under the directory's own.</summary>
    private readonly record struct Key(SiteDirectory Directory, ListingOrder Order, bool AsJson, string Elsewhere);
}
