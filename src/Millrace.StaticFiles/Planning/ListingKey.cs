using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Listings;

namespace Millrace.StaticFiles.Planning;

/// <summary>Which listing of a snapshot.</summary>
/// <param name="Directory">Whose.</param>
/// <param name="Order">How it is sorted.</param>
/// <param name="AsJson">Whether it is for a program.</param>
/// <param name="Elsewhere">The address of a page that is not under the directory's own; empty for one that is.</param>
internal readonly record struct ListingKey(SiteDirectory Directory, ListingOrder Order, bool AsJson, string Elsewhere);
