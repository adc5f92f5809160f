namespace Millrace.StaticFiles.Listings;

internal enum ListingEntryKind : byte
{
    File,
    Directory,
}
