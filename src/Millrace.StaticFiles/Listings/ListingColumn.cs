namespace Millrace.StaticFiles.Listings;

/// <summary>What a listing can be sorted by.</summary>
internal enum ListingColumn : byte
{
    Name,
    Size,
    Time,
}
