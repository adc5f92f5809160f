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
    /// <summary>What one snapshot keeps; listings beyond are made each time.</summary>
    private const long KeptBytesMax = 16 * 1024 * 1024;

    private static readonly byte[] HtmlType = "text/html; charset=utf-8"u8.ToArray();
    private static readonly byte[] JsonType = "application/json"u8.ToArray();
    private static readonly ConditionalWeakTable<CatalogSnapshot, Shelf> Shelves = [];

    /// <param name="snapshot">A snapshot the caller has leased.</param>
    /// <param name="directory">A directory of it.</param>
    /// <param name="urlPath">Its decoded path in the URL, with '/' at both ends.</param>
    /// <param name="query">How to sort it, see <see cref="ListingOrder"/>.</param>
    /// <param name="asJson">Whether a program asks.</param>
    public static PlanDocument Of(
        CatalogSnapshot snapshot, SiteDirectory directory, ReadOnlySpan<byte> urlPath, ReadOnlySpan<byte> query, bool asJson)
    {
        ListingOrder order = ListingOrder.Parse(query);
        Shelf shelf = Shelves.GetOrCreateValue(snapshot);
        var key = new Key(directory, order, asJson);
        if (!shelf.Documents.TryGetValue(key, out PlanDocument? document))
        {
            document = Make(snapshot, directory, urlPath, order, asJson);
            if (Interlocked.Add(ref shelf.Bytes, document.Bytes.Length) <= KeptBytesMax)
            {
                shelf.Documents[key] = document;
            }
        }

        return document;
    }

    private static PlanDocument Make(
        CatalogSnapshot snapshot, SiteDirectory directory, ReadOnlySpan<byte> urlPath, ListingOrder order, bool asJson)
    {
        ListingEntry[] entries = ListingEntries.Of(snapshot, directory);
        byte[] bytes = asJson ? ListingJson.Render(entries, order) : ListingPage.Render(urlPath, entries, order);
        byte[] tag = Encoding.ASCII.GetBytes($"\"{Convert.ToHexStringLower(SHA256.HashData(bytes).AsSpan(0, 16))}\"");
        return new PlanDocument(bytes, asJson ? JsonType : HtmlType, tag);
    }

    private sealed class Shelf
    {
        public readonly ConcurrentDictionary<Key, PlanDocument> Documents = new();

        public long Bytes;
    }

    private readonly record struct Key(SiteDirectory Directory, ListingOrder Order, bool AsJson);
}
