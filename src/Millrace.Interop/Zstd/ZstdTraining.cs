using System.Runtime.InteropServices;

namespace Millrace.Interop.Zstd;

/// <summary>
/// Makes a dictionary of what many samples have in common (libzstd's ZDICT). Deterministic for a version of the library. Any thread; takes
/// seconds for some MiB of samples, and ten times their memory.
/// </summary>
internal static unsafe class ZstdTraining
{
    /// <summary>
    /// Raw bytes that <see cref="ZstdEncoder"/> takes as a dictionary, as any other encoder may (RFC 9842). Empty if the samples are too
    /// few or have too little in common.
    /// </summary>
    /// <param name="library">The library.</param>
    /// <param name="samples">All samples, one after another.</param>
    /// <param name="sampleBytes">The size of each sample. Their sum is the size of <paramref name="samples"/>.</param>
    /// <param name="dictionaryBytesMax">The size of the dictionary: a hundredth of that of the samples is usual.</param>
    public static byte[] Train(ZstdLibrary library, ReadOnlySpan<byte> samples, ReadOnlySpan<int> sampleBytes, int dictionaryBytesMax)
    {
        long sum = 0;
        nuint[] sizes = new nuint[sampleBytes.Length];
        for (int i = 0; i < sizes.Length; i++)
        {
            ArgumentOutOfRangeException.ThrowIfNegative(sampleBytes[i], nameof(sampleBytes));
            sum += sampleBytes[i];
            sizes[i] = (nuint)sampleBytes[i];
        }

        // The library reads as far as the sizes say.
        ArgumentOutOfRangeException.ThrowIfNotEqual(sum, samples.Length, nameof(sampleBytes));
        if (sizes.Length == 0 || dictionaryBytesMax <= 0)
        {
            return [];
        }

        var train = (delegate* unmanaged<byte*, nuint, byte*, nuint*, uint, nuint>)library.Export("ZDICT_trainFromBuffer");
        var isError = (delegate* unmanaged<nuint, uint>)library.Export("ZDICT_isError");
        byte* dictionary = (byte*)NativeMemory.Alloc((nuint)dictionaryBytesMax);
        try
        {
            nuint bytes;
            fixed (byte* first = samples)
            fixed (nuint* firstSize = sizes)
            {
                bytes = train(dictionary, (nuint)dictionaryBytesMax, first, firstSize, (uint)sizes.Length);
            }

            var whole = new ReadOnlySpan<byte>(dictionary, isError(bytes) != 0 ? 0 : (int)bytes);
            return whole.IsEmpty ? [] : whole[HeaderBytes(library, dictionary, bytes)..].ToArray();
        }
        finally
        {
            NativeMemory.Free(dictionary);
        }
    }

    /// <summary>The tables before the content, which a raw dictionary does not use. Libraries before 1.4.6 do not say their size.</summary>
    private static int HeaderBytes(ZstdLibrary library, byte* dictionary, nuint bytes)
    {
        if (!library.TryExport("ZDICT_getDictHeaderSize", out nint address))
        {
            return 0;
        }

        nuint header = ((delegate* unmanaged<byte*, nuint, nuint>)address)(dictionary, bytes);
        return library.IsError(header) ? 0 : (int)header;
    }
}
