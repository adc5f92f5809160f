using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using System.Text;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Listings;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// The listings of a snapshot's directories: made when somebody asks and kept for the next one, as 50,000 names take a tenth of a second.
/// Long ones are made on the thread pool, once for all who ask meanwhile. Any thread may ask; two that race for a short one make two equal
/// documents and one is dropped.
/// </summary>
internal static class DirectoryDocument
{
    /// <summary>What one snapshot keeps.</summary>
    private const long KeptBytesMax = 16 * 1024 * 1024;

    /// <summary>And beside them, of pages under the addresses of rules, of which there may be any number.</summary>
    private const long KeptElsewhereBytesMax = 4 * 1024 * 1024;

    /// <summary>Names that take some two milliseconds: more are not made while a reactor's other connections wait.</summary>
    private const int NamesMadeAtOnceMax = 1_000;

    private static readonly byte[] HtmlType = "text/html; charset=utf-8"u8.ToArray();
    private static readonly byte[] JsonType = "application/json"u8.ToArray();
    private static readonly ConditionalWeakTable<CatalogSnapshot, Shelves> Kept = [];

    /// <param name="snapshot">A snapshot the caller has leased.</param>
    /// <param name="directory">A directory of it.</param>
    /// <param name="urlPath">The decoded path in the URL, with '/' at both ends; another than its own where a rule led there.</param>
    /// <param name="query">How to sort it, see <see cref="ListingOrder"/>.</param>
    /// <param name="asJson">Whether a program asks.</param>
    /// <param name="mayWait">Whether a long listing may be waited for; else it is made here and now.</param>
    /// <param name="document">The listing, unless it is to be waited for.</param>
    /// <param name="making">What is waited for. As long as it is held the document is found then, large or not.</param>
    public static bool TryGet(
        CatalogSnapshot snapshot,
        SiteDirectory directory,
        ReadOnlySpan<byte> urlPath,
        ReadOnlySpan<byte> query,
        bool asJson,
        bool mayWait,
        [NotNullWhen(true)] out PlanDocument? document,
        [NotNullWhen(false)] out Task? making)
    {
        ListingOrder order = ListingOrder.Parse(query);

        // A page says where it is: one under another address is not the directory's own.
        bool isOwn = asJson || urlPath[..^1].SequenceEqual(directory.Path);
        var key = new ListingKey(directory, order, asJson, isOwn ? "" : Encoding.Latin1.GetString(urlPath));
        Shelves shelves = Kept.GetOrCreateValue(snapshot);
        ListingShelf shelf = isOwn ? shelves.Own : shelves.Elsewhere;
        document = shelf.Find(key);
        if (document is null && (!mayWait || directory.Assets.Length + directory.Subdirectories.Count <= NamesMadeAtOnceMax))
        {
            document = shelf.Keep(key, Make(snapshot, key, urlPath));
        }

        making = document is null ? MakeElsewhere(shelf, key, snapshot, urlPath.ToArray()) : null;
        return document is not null;
    }

    /// <summary>On the thread pool, with a lease of its own.</summary>
    private static Task MakeElsewhere(ListingShelf shelf, ListingKey key, CatalogSnapshot snapshot, byte[] urlPath) => shelf.Make(key, () =>
    {
        bool isLeased = snapshot.TryAcquire();
        Debug.Assert(isLeased, "whoever asks has a lease");
        return Task.Run(() =>
        {
            try
            {
                return Make(snapshot, key, urlPath);
            }
            finally
            {
                snapshot.Release();
            }
        });
    });

    private static PlanDocument Make(CatalogSnapshot snapshot, ListingKey key, ReadOnlySpan<byte> urlPath)
    {
        ListingEntry[] entries = ListingEntries.Of(snapshot, key.Directory);
        (ListingOrder order, bool asJson) = (key.Order, key.AsJson);
        byte[] bytes = asJson ? ListingJson.Render(entries, order) : ListingPage.Render(urlPath, entries, order);
        byte[] tag = Encoding.ASCII.GetBytes($"\"{Convert.ToHexStringLower(SHA256.HashData(bytes).AsSpan(0, 16))}\"");
        return new PlanDocument(bytes, asJson ? JsonType : HtmlType, tag);
    }

    private sealed class Shelves
    {
        public ListingShelf Own { get; } = new(KeptBytesMax);

        public ListingShelf Elsewhere { get; } = new(KeptElsewhereBytesMax);
    }
}
