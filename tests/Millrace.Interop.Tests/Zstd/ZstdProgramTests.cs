using System.Buffers;
using System.Diagnostics;

namespace Millrace.Interop.Tests.Zstd;

/// <summary>Against the program <c>zstd</c>, which is the format's reference.</summary>
public sealed class ZstdProgramTests : IDisposable
{
    private const string Program = "/usr/bin/zstd";

    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("millrace-zstd-");

    public void Dispose() => _directory.Delete(recursive: true);

    [Fact]
    public async Task The_program_decodes_what_is_encoded_here_and_the_other_way_round()
    {
        SkipWithoutProgram();
        byte[] content = ZstdBytes.Text(1_000_000, 1);
        await WriteAsync("coded.zst", ZstdBytes.Encode(content, level: 19));
        await WriteAsync("content", content);
        await RunAsync("-q", "-d", PathOf("coded.zst"), "-o", PathOf("decoded"));
        await RunAsync("-q", "-19", PathOf("content"), "-o", PathOf("theirs.zst"));

        Assert.Equal(content, await File.ReadAllBytesAsync(PathOf("decoded"), TestContext.Current.CancellationToken));
        byte[] theirs = await File.ReadAllBytesAsync(PathOf("theirs.zst"), TestContext.Current.CancellationToken);
        (OperationStatus status, byte[] decoded) = ZstdBytes.Decode(theirs);
        Assert.Equal(OperationStatus.Done, status);
        Assert.Equal(content, decoded);
    }

    [Fact]
    public async Task The_program_decodes_with_a_dictionary()
    {
        SkipWithoutProgram();
        byte[] before = ZstdBytes.Text(1_000_000, 1);
        byte[] now = [.. before[..500_000], .. "A change."u8, .. before[500_000..]];
        await WriteAsync("before", before);
        await WriteAsync("coded.zst", ZstdBytes.Encode(now, level: 19, dictionary: before));
        await RunAsync("-q", "-d", "--patch-from", PathOf("before"), PathOf("coded.zst"), "-o", PathOf("decoded"));

        Assert.Equal(now, await File.ReadAllBytesAsync(PathOf("decoded"), TestContext.Current.CancellationToken));
    }

    private static void SkipWithoutProgram() => Assert.SkipUnless(File.Exists(Program), "zstd is not installed");

    private static async Task RunAsync(params string[] arguments)
    {
        using Process process = Process.Start(new ProcessStartInfo(Program, arguments) { RedirectStandardError = true })!;
        string problem = await process.StandardError.ReadToEndAsync(TestContext.Current.CancellationToken);
        await process.WaitForExitAsync(TestContext.Current.CancellationToken);
        Assert.Equal((0, ""), (process.ExitCode, problem));
    }

    private string PathOf(string name) => Path.Combine(_directory.FullName, name);

    private Task WriteAsync(string name, byte[] bytes) =>
        File.WriteAllBytesAsync(PathOf(name), bytes, TestContext.Current.CancellationToken);
}
