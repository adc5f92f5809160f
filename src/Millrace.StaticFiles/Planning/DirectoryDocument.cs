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

    /// <summary>And beside them, of pages under the addresses of rules. There may be any number, so old ones make room for new.</summary>
    private const long KeptElsewhereBytesMax = 4 * 1024 * 1024;

    private static readonly byte[] HtmlType = "text/html; charset=utf-8"u8.ToArray();
    private static readonly byte[] JsonType = "application/json"u8.ToArray();
    private static readonly ConditionalWeakTable<CatalogSnapshot, Shelf> Shelves = [];

    /// <param name="snapshot">A snapshot the caller has leased.</param>
    /// <param name="directory">A directory of it.</param>
    /// <param name="urlPath">The decoded path in the URL, with '/' at both ends; another than its own where a rule led there.</param>
    /// <param name="query">How to sort it, see <see cref="ListingOrder"/>.</param>
    /// <param name="asJson">Whether a program asks.</param>
    public static PlanDocument Of(
        CatalogSnapshot snapshot, SiteDirectory directory, ReadOnlySpan<byte> urlPath, ReadOnlySpan<byte> query, bool asJson)
    {
        ListingOrder order = ListingOrder.Parse(query);
        Shelf shelf = Shelves.GetOrCreateValue(snapshot);

        // A page says where it is: one under another address is not the directory's own.
        bool isOwn = asJson || urlPath[..^1].SequenceEqual(directory.Path);
        var key = new Key(directory, order, asJson, isOwn ? "" : Encoding.Latin1.GetString(urlPath));
        if (!shelf.Documents.TryGetValue(key, out PlanDocument? document))
        {
            document = Make(snapshot, directory, urlPath, order, asJson);
            shelf.Keep(key, document);
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
        private long _bytes;
        private long _bytesElsewhere;

        public ConcurrentDictionary<Key, PlanDocument> Documents { get; } = new();

        public void Keep(Key key, PlanDocument document)
        {
            if (key.Elsewhere.Length > 0)
            {
                KeepElsewhere(key, document);
            }
            else if (Interlocked.Add(ref _bytes, document.Bytes.Length) <= KeptBytesMax)
            {
                Documents[key] = document;
            }
        }

        private void KeepElsewhere(Key key, PlanDocument document)
        {
            if (Interlocked.Add(ref _bytesElsewhere, document.Bytes.Length) > KeptElsewhereBytesMax)
            {
                foreach (Key old in Documents.Keys.Where(static old => old.Elsewhere.Length > 0))
                {
                    _ = Documents.TryRemove(old, out _);
                }

                Interlocked.Exchange(ref _bytesElsewhere, document.Bytes.Length);
            }

            if (document.Bytes.Length <= KeptElsewhereBytesMax)
            {
                Documents[key] = document;
            }
        }
    }

    /// <summary>Elsewhere: the address of a page that is not under the directory's own.</summary>
    private readonly record struct Key(SiteDirectory Directory, ListingOrder Order, bool AsJson, string Elsewhere);
}
