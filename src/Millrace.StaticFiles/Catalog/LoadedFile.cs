using Millrace.StaticFiles.Building;
using Millrace.StaticFiles.Content;

namespace Millrace.StaticFiles.Catalog;

/// <summary>What is known of a file when an asset is made of it.</summary>
/// <param name="Path">Its path.</param>
/// <param name="Type">Its type, by its name.</param>
/// <param name="State">From the descriptor its bytes come from.</param>
/// <param name="LookedAtNs">A time before they were read.</param>
/// <param name="Validators">Made of these, or of the bytes.</param>
internal readonly record struct LoadedFile(
    SitePath Path, ContentType Type, FileState State, long LookedAtNs, AssetValidators Validators);
