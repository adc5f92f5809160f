namespace Millrace.StaticFiles.Listings;

internal enum SortDirection : byte
{
    Ascending,
    Descending,
}
