namespace Millrace.Interop.Tests.Abi;

/// <summary>
/// One fact of the kernel's ABI: our name for it (<c>Type</c> for a size, <c>Type.Member</c> for an offset or a constant), the C
/// expression for it, its value on x64 and arm64, and the kernel whose headers first had that name, where older ones are about.
/// </summary>
internal sealed record AbiEntry(string Ours, string C, long Value, Version? Since = null)
{
    public static AbiEntry[] Of(params AbiEntry[][] tables) => [.. tables.SelectMany(table => table)];

    public static implicit operator AbiEntry((string Ours, string C, long Value) row) => new(row.Ours, row.C, row.Value);

    public static implicit operator AbiEntry((string Ours, string C, long Value, string Since) row) =>
        new(row.Ours, row.C, row.Value, Version.Parse(row.Since));

    public override string ToString() => $"{Ours} ({C})";
}
