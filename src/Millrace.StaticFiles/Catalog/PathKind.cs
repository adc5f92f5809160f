namespace Millrace.StaticFiles.Catalog;

/// <summary>What a path of the site leads to.</summary>
internal enum PathKind : byte
{
    File,
    Directory,
}
