using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Millrace.Interop.Crypt;

namespace Millrace.Interop.Tests.Crypt;

/// <summary>The structure against crypt.h where it and a compiler are there, and against what it has always said.</summary>
public class CryptDataTests
{
    private const string Expected = "32768 0 384 768 384 512";

    private const string Program = """
        #include <crypt.h>
        #include <stddef.h>
        #include <stdio.h>
        int main(void) {
          printf("%zu %zu %zu %zu %d %d", sizeof(struct crypt_data), offsetof(struct crypt_data, output),
            offsetof(struct crypt_data, setting), offsetof(struct crypt_data, input), CRYPT_OUTPUT_SIZE, CRYPT_MAX_PASSPHRASE_SIZE);
        }
        """;

    private static string Ours => string.Join(' ',
        Unsafe.SizeOf<CryptData>(),
        Marshal.OffsetOf<CryptData>(nameof(CryptData.Output)),
        Marshal.OffsetOf<CryptData>(nameof(CryptData.Setting)),
        Marshal.OffsetOf<CryptData>(nameof(CryptData.Input)),
        CryptData.OutputBytes,
        CryptData.InputBytes);

    [Fact]
    public void The_structure_has_the_committed_layout() => Assert.Equal(Expected, Ours);

    [Fact]
    public async Task The_structure_has_the_layout_of_the_header()
    {
        Assert.SkipUnless(File.Exists("/usr/include/crypt.h") && File.Exists("/usr/bin/gcc"), "crypt.h or gcc is not installed");
        DirectoryInfo directory = Directory.CreateTempSubdirectory("millrace-crypt-");
        try
        {
            string source = Path.Combine(directory.FullName, "layout.c");
            string program = Path.Combine(directory.FullName, "layout");
            await File.WriteAllTextAsync(source, Program);
            await OutputOfAsync("gcc", "-o", program, source);

            Assert.Equal(Ours, await OutputOfAsync(program));
        }
        finally
        {
            directory.Delete(recursive: true);
        }
    }

    private static async Task<string> OutputOfAsync(string program, params string[] arguments)
    {
        using Process process = Process.Start(new ProcessStartInfo(program, arguments) { RedirectStandardOutput = true })!;
        string output = await process.StandardOutput.ReadToEndAsync();
        await process.WaitForExitAsync();
        Assert.Equal(0, process.ExitCode);
        return output;
    }
}
