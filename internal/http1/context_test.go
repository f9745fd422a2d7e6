package http1

import (
	"context"
	"errors"
	"testing"
)

// TestContext asks for the end before and after it.
func TestContext(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{true, false} {
		c := &callContext{Context: context.Background()}
		if c.Err() != nil {
			t.Errorf("Err() = %v before the end, want nil", c.Err())
		}
		if early {
			select {
			case <-c.Done():
				t.Error("Done is closed before the end")
			default:
			}
		}
		c.end()
		<-c.Done()
		if !errors.Is(c.Err(), context.Canceled) {
			t.Errorf("Err() = %v after the end, want %v", c.Err(), context.Canceled)
		}
	}
}
